//! What the handoff says to somebody who meets it for the first time: the next step, what of a file was not used, and
//! which file goes where. Through the real program.

use serde_json::json;

use crate::handoff_cli::{POOL, Round, angles, judgments, report, without_nominations};

/// A judgments file with one row.
fn row(bundle_id: &str, row: &str) -> String {
    format!(r#"{{"bundle_id": "{bundle_id}", "judgments": [{row}]}}"#)
}

#[test]
fn a_finalize_that_comes_too_early_names_the_one_step_before_it() {
    let round = Round::new();
    let check = |round: &Round, next: &str| {
        let refused = round.run("finalize");
        let remedy = refused.refused(2, "there is no current pending report");
        let said = round.run("status --json");
        if said.code == 0 {
            assert_eq!(said.json()["next"], next, "status says the same");
        }
        assert!(remedy.ends_with(&format!(": {next}\n")), "{remedy}");
        assert_eq!(remedy.matches("legbook handoff").count(), 1, "{remedy}");
    };
    check(&round, "legbook handoff nominate");
    let bundle_id = round.nominate("");
    check(&round, "legbook handoff judge FILE");
    round.reading("judge -", &judgments(&bundle_id)).expect(0);
    check(&round, "legbook handoff report FILE");
    round.run(&format!("report --nothing-solid {bundle_id}")).expect(0);
    check(&round, "legbook handoff nominate");
    round.reading("nominate", &without_nominations(POOL)).expect(0);
    check(&round, "legbook handoff nominate");
    // A mock round is gone on with as one.
    round.judged("--save-dir out --mock");
    let refused = round.run("finalize --save-dir out --mock");
    let remedy = refused.refused(2, "there is no current pending report");
    assert!(remedy.contains("legbook handoff report --save-dir out --mock FILE"), "{remedy}");
}

#[test]
fn after_nothing_solid_nothing_is_awaited_until_somebody_judges_again() {
    let round = Round::new();
    let bundle_id = round.reported("");
    let state = || {
        (round.run("status --json").json()["awaits"].clone(), round.sql("SELECT state FROM handoff_rounds"))
    };
    assert_eq!(state(), (json!("angles"), "awaiting angles\n".to_owned()));
    let said = round.run(&format!("report --nothing-solid {bundle_id}"));
    assert!(said.expect(0).contains("awaits nothing"), "{said:?}");
    assert_eq!(state(), (json!("nothing"), "nothing solid\n".to_owned()));
    let status = round.run("status");
    assert!(status.expect(0).contains("awaits   nothing: nothing of it was solid"), "{status:?}");
    assert!(status.stdout.contains("next     legbook handoff nominate\n"), "{status:?}");
    // Said twice is no matter; so is that no report came before it.
    round.run(&format!("report --nothing-solid {bundle_id}")).expect(0);
    assert_eq!(state(), (json!("nothing"), "nothing solid\n".to_owned()));
    round.reading("judge -", &judgments(&bundle_id)).expect(0);
    assert_eq!(state(), (json!("report"), "awaiting report\n".to_owned()));
    round.run(&format!("report --nothing-solid {bundle_id}")).expect(0);
    assert_eq!(state(), (json!("nothing"), "nothing solid\n".to_owned()));
    round.reading("report -", &report(&bundle_id)).expect(0);
    assert_eq!(state(), (json!("angles"), "awaiting angles\n".to_owned()));
    round.run("finalize").expect(0);
    assert_eq!(state(), (json!("nothing"), "finalized\n".to_owned()));
}

#[test]
fn nothing_solid_is_the_latest_attempt_whoever_writes_it() {
    let round = Round::new();
    let bundle_id = round.nominate("");
    let refused = |sql: &str| {
        let mut command = std::process::Command::new("sqlite3");
        let output = command.arg(round.workspace.store()).arg(sql).output().unwrap();
        String::from_utf8(output.stderr).unwrap().contains("rounds: ")
    };
    assert!(refused("UPDATE rounds SET nothing_solid = 1"), "not judged");
    round.reading("judge -", &judgments(&bundle_id)).expect(0);
    for wrong in ["0", "2"] {
        assert!(refused(&format!("UPDATE rounds SET nothing_solid = {wrong}")), "{wrong}");
    }
    round.run(&format!("report --nothing-solid {bundle_id}")).expect(0);
    assert!(refused("UPDATE rounds SET nothing_solid = NULL"), "taken back without a judgment");
    round.nominate("");
    assert!(refused(&format!("UPDATE rounds SET nothing_solid = 2 WHERE bundle_id = '{bundle_id}'")), "over");
}

#[test]
fn what_of_a_judgment_was_not_used_is_said() {
    let round = Round::new();
    let bundle_id = round.nominate("");
    let cases = [
        (r#"{"id": "n1", "worth": 3}"#, "of its keys only id, name, junk and worthiness are known"),
        (r#"{"id": "n1", "junk": "yes"}"#, "its junk is neither true nor false"),
        (r#"{"id": "n1", "worthiness": "high"}"#, "its worthiness is no number"),
        (r#"{"id": "n1", "worthiness": 850}"#, "its worthiness is not within 0 to 100"),
        (r#"{"id": "n1", "worthiness": -0.6}"#, "its worthiness is not within 0 to 100"),
        (r#"{"id": "n1", "name": "?!"}"#, "its name is no text with a letter or digit"),
    ];
    for (judgment, words) in cases {
        let judged = round.reading("judge - --json", &row(&bundle_id, judgment));
        let warning = format!("judgments[0] is taken, but {words}");
        assert!(judged.stderr.starts_with(&format!("warning: {warning}")), "{judgment}: {judged:?}");
        let answer: serde_json::Value = serde_json::from_str(&judged.stdout).unwrap();
        assert!(answer["warnings"][1].as_str().unwrap().starts_with(&warning), "{judgment}: {judged:?}");
        assert_eq!(answer["nominations"][0]["judged"], true, "{judgment}");
    }
    for usable in [
        r#"{"id": "n1", "name": null, "junk": null, "worthiness": null}"#,
        r#"{"id": "n1", "name": "Gemma", "junk": true, "worthiness": "100.4"}"#,
        r#"{"id": "n1", "worthiness": -0.4}"#,
    ] {
        let judged = round.reading("judge - --json", &row(&bundle_id, usable));
        assert_eq!((judged.code, judged.stderr.as_str()), (0, ""), "{usable}");
    }
    let bundle_id = round.reported("");
    let misspelt = angles(&bundle_id).replace("podcast", "podcast_angle");
    let finalized = round.reading("finalize --angles -", &misspelt);
    let remedy = finalized
        .refused(2, "angles[0]: of its keys only id, podcast and x_article are known, it has no usable hook");
    assert!(remedy.contains("and a podcast or an x_article"), "{remedy}");
}

#[test]
fn a_file_of_which_no_row_can_be_used_is_told_the_ids() {
    let round = Round::new();
    let bundle_id = round.nominate("");
    let refused = round.reading("judge -", &row(&bundle_id, r#"{"id": "n7"}, {"name": "x"}, {"id": "m1"}"#));
    let remedy =
        refused.refused(2, "no row of \"judgments\" can be used: 2 of 3 name an id that is not known here");
    assert!(remedy.contains("of this round (n1, n2)"), "{remedy}");
    let start = POOL.find("{\"cluster_id\"").unwrap();
    let one = r#"{"cluster_id": "c", "heuristic_name": "A", "heuristic_junk": false, "nomination": {"name": "a", "items": []}}"#;
    let many = format!("{}{}]}}", &POOL[..start], [one; 12].join(", "));
    let nominated = round.reading("nominate --json", &many).json();
    let refused = round.reading("judge -", &row(nominated["bundle_id"].as_str().unwrap(), "7"));
    let remedy = refused.refused(2, "can be used: 0 of 1 name an id");
    assert!(remedy.contains("(n1, n2, n3, n4, n5, n6, n7, n8 and 4 more)"), "{remedy}");
}

#[test]
fn judgments_of_an_earlier_pool_are_told_to_look_at_this_one_first() {
    let round = Round::new();
    let old = round.nominate("");
    let new = round.nominate("");
    let refused = round.reading("judge -", &judgments(&old));
    let remedy = refused.refused(2, "is bound to bundle_id");
    assert!(
        remedy.contains(&format!("round {old} was superseded, and its ids n1, n2 mean other topics now")),
        "{remedy}"
    );
    assert!(remedy.contains(&format!("first judge by legbook handoff show {new}")), "{remedy}");
    let refused = round.reading("judge -", &judgments("0000"));
    assert!(!refused.refused(2, "is bound to bundle_id").contains("superseded"), "only mistyped");
}

#[test]
fn a_shown_bundle_has_warnings_where_there_are_none() {
    let round = Round::new();
    let nominated = round.reading("nominate --json", &POOL.replace("\"old news\"", "")).json();
    let id = nominated["bundle_id"].as_str().unwrap();
    assert_eq!(round.run(&format!("show {id} --json")).json()["warnings"], json!([]));
    assert!(!round.run(&format!("show {id} --legacy")).expect(0).contains("warnings"), "as legacy has it");
}

#[test]
fn a_pool_is_taken_from_a_file_and_json_on_the_command_line_is_not() {
    let round = Round::new();
    round.file("pool.json", POOL);
    round.run("nominate pool.json").expect(0);
    for arguments in [["handoff", "nominate", "{\"secret\": 1}"], ["handoff", "judge", " [\"secret\"]"]] {
        let refused = round.workspace.legbook(arguments);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("give it on stdin, or name a file that holds it"), "{refused:?}");
        assert!(!refused.stderr.contains("secret"), "{refused:?}");
    }
}

#[test]
fn quiet_leaves_the_instructions_out_and_an_empty_queue_says_so() {
    let round = Round::new();
    let empty = round.run("queue");
    assert_eq!(
        (empty.expect(0), empty.stderr.as_str()),
        ("", "no topics: no finalized report has surfaced one\n")
    );
    assert_eq!(round.run("queue --quiet").stderr, "");
    let nominated = round.reading("nominate -q", POOL);
    assert!(!nominated.expect(0).contains("Write your judgments"), "{nominated:?}");
    assert!(nominated.stdout.contains("\"judgments\": [{\"id\": \"n1\""), "{nominated:?}");
    let bundle_id = round.judged("");
    let reported = round.reading("report - -q", &report(&bundle_id));
    let lines: Vec<&str> = reported.expect(0).lines().collect();
    assert!(
        lines.last().unwrap().starts_with(&format!("{{\"bundle_id\": \"{bundle_id}\", \"angles\": [")),
        "{lines:?}"
    );
    for words in ["is stored as", "Angle inputs:", "Write your angles"] {
        assert!(!reported.stdout.contains(words), "{words}");
    }
    assert!(reported.stdout.contains("Gemma 4 chat"), "the angle inputs are the answer");
    assert_eq!(round.run(&format!("report -q --nothing-solid {bundle_id}")).expect(0), "");
}

#[test]
fn help_never_shows_what_a_variable_holds() {
    let round = Round::new();
    let commands: [&[&str]; 3] = [&["handoff", "judge"], &["stage", "save"], &["runs", "write"]];
    for command in commands {
        let mut help = round.workspace.command(command.iter().copied().chain(["--help"]));
        for variable in
            ["LEGBOOK_STRICT_EXIT", "LEGBOOK_PIPELINE", "LEGBOOK_STATE_DIR", "LEGBOOK_STORE", "LEGBOOK_TOKEN"]
        {
            help.env(variable, "hidden-1");
        }
        let text = String::from_utf8(help.output().unwrap().stdout).unwrap();
        assert!(text.contains("[env: LEGBOOK_"), "{text}");
        assert!(!text.contains("hidden-1") && !text.contains("=1]"), "{text}");
    }
}
