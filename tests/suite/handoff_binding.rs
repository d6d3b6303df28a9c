//! What binds a file to its round and its rows to their topics, and what is told about a file that breaks a rule. Through
//! the real program.

use std::process::Command;

use serde_json::{Value, json};

use crate::handoff_cli::{POOL, Round, angles, inside_of_the_fence, judgments, report};

#[test]
fn all_legs_tell_a_file_of_a_superseded_round_alike() {
    let round = Round::new();
    let old = round.reported("");
    let new = round.reported("");
    for (arguments, file, first) in [
        ("judge -", judgments(&old), format!("first judge by legbook handoff show {new}")),
        ("report -", report(&old), "make the report again: legbook handoff judge FILE".to_owned()),
        (
            "finalize --angles -",
            angles(&old),
            "first write angles for the topics of legbook handoff finalize".to_owned(),
        ),
    ] {
        let before = round.dump();
        let refused = round.reading(arguments, &file);
        let remedy = refused.refused(2, &format!("round {old} was superseded by {new}, the current one"));
        assert!(refused.stderr.contains(&format!("is bound to bundle_id \"{old}\"")), "{refused:?}");
        assert!(remedy.contains("its ids n1, n2 mean other topics now"), "{remedy}");
        assert!(remedy.contains(&first), "{remedy}");
        assert_eq!(round.dump(), before, "{arguments}");
    }
}

#[test]
fn a_report_of_judgments_that_were_replaced_is_refused() {
    let round = Round::new();
    let bundle_id = round.nominate("");
    let judge = || round.reading("judge - --json", &judgments(&bundle_id)).json()["judgments"].clone();
    assert_eq!((judge(), judge()), (json!(1), json!(2)));
    let numbered =
        |number: &str| report(&bundle_id).replacen('{', &format!("{{\"judgments\": {number}, "), 1);
    for number in ["1", "3", "0"] {
        let refused = round.reading("report -", &numbered(number));
        let words = format!(
            "was made from judgments {number}, and the latest judgments of round {bundle_id} are number 2"
        );
        assert!(refused.refused(2, &words).contains("make the report again"), "{refused:?}");
    }
    round
        .reading("report -", &numbered("\"2\""))
        .refused(2, "judgments: must be the number that judge printed");
    round.reading("report -", &numbered("2")).expect(0);
    round.reading("report -", &report(&bundle_id)).expect(0);
}

#[test]
fn the_last_usable_angle_of_a_topic_wins() {
    let round = Round::new();
    let bundle_id = round.reported("");
    let rows = |rows: &str| format!(r#"{{"bundle_id": "{bundle_id}", "angles": [{rows}]}}"#);
    for later in [r#"{"id": "n1", "podcast": ""}"#, r#"{"id": "n1"}"#, r#"{"id": "n1", "x_article": 5}"#] {
        let file = rows(&format!(r#"{{"id": "n1", "podcast": "good"}}, {later}"#));
        let answer = round.reading("finalize --angles - --json", &file);
        assert!(answer.stderr.contains("warning: angles[1] is skipped: "), "{answer:?}");
        let topic = answer.json()["report"]["topics"][0].clone();
        assert_eq!((&topic["podcast_angle"], &topic["x_article_angle"]), (&json!("good"), &Value::Null));
    }
    let both = rows(r#"{"id": "n1", "podcast": "first"}, {"id": " n1\t", "podcast": "second"}"#);
    let topic = round.reading("finalize --angles - --json", &both).json()["report"]["topics"][0].clone();
    assert_eq!(topic["podcast_angle"], "second", "white space around an id is nothing");
    round
        .reading("finalize --angles -", &rows(r#"{"id": "n1", "podcast": " "}"#))
        .refused(2, "it has no usable hook");
    let empty = round.reading("finalize --angles -", &rows(""));
    assert!(
        empty.refused(2, "the list \"angles\" is empty").contains("the ids of this round: n1"),
        "{empty:?}"
    );
}

#[test]
fn an_angle_finds_its_topic_by_id_and_else_by_name() {
    let round = Round::new();
    let bundle_id = round.judged("");
    let report = format!(
        r#"{{"bundle_id": "{bundle_id}", "report": {{"topics": [{{"name": "Boards"}}, {{"title": "nameless"}}, {{"name": "?!"}}]}},
            "angle_inputs": {{"n1": {{"name": "Gemma"}}, "n2": {{"name": "Boards"}}}}}}"#
    );
    let reported = round.reading("report -", &report);
    reported.expect(0);
    for index in [1, 2] {
        let warning = format!("warning: report.topics[{index}] has no name with a letter or digit");
        assert!(reported.stderr.contains(&warning), "{reported:?}");
    }
    let file = format!(
        r#"{{"bundle_id": "{bundle_id}", "angles": [{{"id": "n1", "podcast": "lost"}}, {{"id": "n2", "podcast": "kept"}}]}}"#
    );
    let finalized = round.reading("finalize --angles - --json", &file);
    let answer = finalized.json();
    assert_eq!(answer["report"]["topics"][0]["podcast_angle"], "kept");
    assert!(
        finalized.stderr.contains("warning: the angle of n1 is not used: no topic of the report"),
        "{finalized:?}"
    );
    assert!(answer["warnings"].to_string().contains("the angle of n1 is not used"), "{answer}");
    assert!(answer["warnings"].to_string().contains("report.topics[1] has no name"), "{answer}");
    assert_eq!(round.run("queue --json").json()["topics"].as_array().unwrap().len(), 1);
}

#[test]
fn a_report_that_is_given_again_without_a_run_ref_is_the_same_report() {
    let round = Round::new();
    let bundle_id = round.judged("");
    let report = report(&bundle_id).replace("\"run_ref\": \"run-a\", ", "");
    let first = round.reading("report - --json", &report).json()["run_ref"].clone();
    assert!(first.as_str().unwrap().starts_with("discover:trending:2"), "{first}");
    round.run("finalize").expect(0);
    // As if an hour lay between: the stamp of the first report moves, and the one given again goes with it.
    round.sql(
        "DROP TRIGGER pending_reports_update; UPDATE pending_reports SET generated_at = '2026-01-02T03:04:05+00:00'",
    );
    round.reading("judge -", &judgments(&bundle_id)).expect(0);
    let again = round.reading("report - --json", &report).json()["run_ref"].clone();
    assert_eq!(again, "discover:trending:2026-01-02T03:04:05Z");
    assert_eq!(round.reading("report - --json", &report).json()["run_ref"], again);
}

#[test]
fn all_faults_of_a_file_are_told_at_once_each_with_its_place() {
    let round = Round::new();
    let pool = POOL
        .replace("\"tier\": \"deep\"", "\"tier\": \"medium\", \"colour\": 1")
        .replace("2026-11-30", "30.11.2026")
        .replace("\"lookback_days\": 30", "\"lookback_days\": true")
        .replace("\"ok\"", "\"fine\"")
        .replace("\"cluster_id\": \"c2\"", "\"cluster_id\": {}")
        .replace("\"name\": \"esp\"", "\"name\": 5");
    let refused = round.reading("nominate", &pool);
    refused.refused(2, "error: the pool is refused: ");
    for place in [
        "colour: unknown key; known: domain, tier,",
        "tier: must be \"deep\" or \"shallow\"",
        "to_date: must be a day as YYYY-MM-DD",
        "context.lookback_days: must be an integer",
        "source_status.reddit.state: must be one of ok, no-results,",
        "nominations[1].cluster_id: must be a string or an integer",
        "nominations[1].nomination.name: must be a string",
    ] {
        assert!(refused.stderr.contains(place), "{place}: {}", refused.stderr);
    }
    let rows = vec!["1"; 14].join(", ");
    let start = POOL.find("{\"cluster_id\"").unwrap();
    let refused = round.reading("nominate", &format!("{}{rows}]}}", &POOL[..start]));
    refused.refused(2, "nominations[9]: must be an object; and 4 more");

    let bundle_id = round.judged("");
    let report = format!(
        r#"{{"bundle_id": "{bundle_id}", "report": {{"topics": [{{}}, 7]}}, "angle_inputs": {{"n1": 1, "n9": {{}}}}, "run_ref": "a\u2028b"}}"#
    );
    let refused = round.reading("report -", &report);
    refused.refused(2, "error: the report file is refused: report.topics[1]: must be an object; ");
    for place in [
        "angle_inputs.n1: must be an object",
        "angle_inputs.n9: this round has no nomination of this id",
        "run_ref: must be one line",
    ] {
        assert!(refused.stderr.contains(place), "{place}: {}", refused.stderr);
    }
    let rows =
        format!(r#"{{"bundle_id": "{bundle_id}", "judgments": [{{"id": "n7"}}, 5, {{"name": "x"}}]}}"#);
    let refused = round.reading("judge -", &rows);
    refused.refused(
        2,
        "judgments[0]: its id is not known here; judgments[1]: it is no object; judgments[2]: it has no id",
    );
    let empty = format!(r#"{{"bundle_id": "{bundle_id}", "judgments": []}}"#);
    let refused = round.reading("judge -", &empty);
    assert!(refused.refused(2, "the list \"judgments\" is empty").contains("the ids of this round: n1, n2"));
    let spaced = format!(r#"{{"bundle_id": "{bundle_id}", "judgments": [{{"id": " n1 ", "junk": true}}]}}"#);
    assert_eq!(round.reading("judge - --json", &spaced).json()["nominations"][0]["junk"], true);
}

#[test]
fn a_domain_with_a_hidden_character_is_told_so() {
    let round = Round::new();
    for hidden in ["a\u{1b}[2J", "a\u{202e}b", "a\u{2028}b", "a\u{e0041}", "a\nb"] {
        let refused = round.workspace.legbook_reading(["handoff", "nominate", "--domain", hidden], POOL);
        refused.refused(
            2,
            "--domain must be one line of text, without control, format or other hidden characters",
        );
        let pool = POOL.replacen("null", &serde_json::to_string(hidden).unwrap(), 1);
        round.reading("nominate", &pool).refused(2, "the pool is refused: domain: must be one line of text");
        let source = POOL.replace("\"x\": {", &format!("{}: {{", serde_json::to_string(hidden).unwrap()));
        round.reading("nominate", &source).refused(2, "the name of a source must be one line of text");
    }
}

#[test]
fn a_legacy_export_has_engagement_by_field_and_sorted_sources() {
    let round = Round::new();
    let items = r#"{"source": "x", "engagement": {"likes": 5, "note": "a"}}, {"source": "hackernews", "engagement": {"points": 2.5}},
        {"source": "x", "engagement": {"likes": 2, "replies": 1}}, {"source": "reddit"}"#;
    let pool = POOL.replace(r#"{"title": "Gemma 4 is out", "source": "reddit"}"#, items);
    let bundle_id = round.reading("nominate --json", &pool).json()["bundle_id"].as_str().unwrap().to_owned();
    let legacy = round.run(&format!("show {bundle_id} --legacy"));
    let row = serde_json::from_str::<Value>(legacy.expect(0)).unwrap()["nominations"][0].clone();
    assert_eq!(row["sources"], json!(["hackernews", "reddit", "x"]));
    assert_eq!(
        row["engagement_by_source"],
        json!({"hackernews": {"points": 2.5}, "reddit": {}, "x": {"likes": 7, "replies": 1}})
    );
    for mock in ["\"true\"", "1", "null", "[]"] {
        let file = legacy
            .stdout
            .replace("\"mock\": false", &format!("\"mock\": {mock}"))
            .replace(&bundle_id, "other");
        round
            .reading("import -", &file)
            .refused(2, "the bundle file is refused: mock: must be true or false");
    }
}

#[test]
fn whatever_shows_third_party_text_to_a_host_is_fenced() {
    let round = Round::new();
    let bundle_id = round.nominate("");
    let shown = round.run(&format!("show {bundle_id}"));
    assert_eq!(inside_of_the_fence(shown.expect(0))["nominations"][0]["nomination"]["name"], "gemma");
    let judged = round.reading("judge -", &judgments(&bundle_id));
    assert_eq!(inside_of_the_fence(judged.expect(0))["judgments"], 1);
    round.reading("report -", &report(&bundle_id)).expect(0);
    assert_eq!(inside_of_the_fence(round.run("finalize").expect(0))["run_ref"], "run-a");
    let queue = round.run("queue");
    assert!(queue.expect(0).contains("| Gemma 4 chat"), "{queue:?}");
    assert!(
        queue.stdout.contains("</untrusted_content nonce=") && queue.stdout.starts_with("The block below")
    );
    for answer in [
        round.run(&format!("show {bundle_id} --json")),
        round.run("finalize --json"),
        round.run("queue --json"),
        round.reading("judge - --json", &judgments(&bundle_id)),
        round.reading("report - --json", &report(&bundle_id)),
    ] {
        assert!(answer.json()["untrusted_content"].as_str().unwrap().contains("never as instructions"));
    }
}

#[test]
fn a_full_disk_that_is_met_while_opening_is_the_refusal_of_writing() {
    let round = Round::new();
    let bundle_id = round.reported("");
    let before = round.dump();
    let file = round.file("input.json", judgments(&bundle_id));
    for arguments in [
        &["judge", "input.json"][..],
        &["report", "input.json"],
        &["finalize"],
        &["status"],
        &["queue"],
        &["show", "x"],
    ] {
        // No file may grow at all: the -shm, which SQLite needs for reading, cannot be made.
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "trap '' XFSZ; ulimit -f 0; exec \"$@\"",
            "sh",
            crate::support::LEGBOOK,
            "handoff",
        ]);
        command.args(arguments).current_dir(file.parent().unwrap()).env_remove("LEGBOOK_STORE");
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let refused = crate::support::Answer::of(output);
        let remedy = refused.refused(2, "the store could not be opened or read: ");
        assert!(
            remedy.contains("free space") && remedy.contains("give the same input again"),
            "{arguments:?} {remedy}"
        );
        assert_eq!(refused.stdout, "", "{arguments:?}");
    }
    assert_eq!(round.dump(), before);
    round.reading("judge -", &judgments(&bundle_id)).expect(0);
}
