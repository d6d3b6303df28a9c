//! docs/CLI.md against the program: every command, every option, every field of an answer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::{Answer, Workspace};

const PAGE: &str = include_str!("../../docs/CLI.md");

/// The sections of the page by their headings.
fn sections() -> BTreeMap<&'static str, String> {
    let mut sections = BTreeMap::new();
    let mut heading = "";
    for line in PAGE.lines() {
        match line.trim_start_matches('#') {
            title if title.len() < line.len() => heading = title.trim(),
            _ => *sections.entry(heading).or_insert_with(String::new) += &format!("{line}\n"),
        }
    }
    sections
}

fn help(command: &[String]) -> String {
    let workspace = Workspace::new();
    let arguments = command.iter().map(String::as_str).chain(["--help"]);
    workspace.legbook(arguments).expect(0).to_owned()
}

/// The lines of a `--help` below the heading `title`, up to an empty line.
fn block<'text>(help: &'text str, title: &str) -> impl Iterator<Item = &'text str> {
    let lines = help.lines().skip_while(move |line| *line != title).skip(1);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().into_iter()
}

fn subcommands(help: &str) -> Vec<String> {
    let names = block(help, "Commands:").filter_map(|line| line.split_whitespace().next());
    // A command's description may go on in the next line, further to the right.
    let commands = names.zip(block(help, "Commands:")).filter(|(_, line)| !line.starts_with("    "));
    commands.map(|(name, _)| name.to_owned()).filter(|name| name != "help").collect()
}

/// The long options that are the command's own.
fn options(help: &str) -> Vec<String> {
    let words = block(help, "Options:")
        .filter(|line| line.trim_start().starts_with('-'))
        .flat_map(str::split_whitespace);
    let long = words.filter(|word| word.starts_with("--")).map(|word| word.trim_end_matches(',').to_owned());
    long.filter(|option| option != "--help" && option != "--version").collect()
}

#[test]
fn the_reference_names_every_command_with_every_option() {
    let sections = sections();
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = BTreeSet::new();
    while let Some(command) = left.pop() {
        let help = help(&command);
        left.extend(subcommands(&help).into_iter().map(|name| [&command[..], &[name]].concat()));
        if command.is_empty() {
            let everywhere = &sections["Everywhere"];
            for option in ["--store", "--json", "--quiet", "--help", "--version"] {
                assert!(help.contains(option) && everywhere.contains(option), "{option}");
            }
            continue;
        }
        let name = format!("legbook {}", command.join(" "));
        let section =
            sections.get(name.as_str()).unwrap_or_else(|| panic!("docs/CLI.md has no section {name}"));
        // What a group's commands have in common stands with the group.
        let group =
            command.len().checked_sub(1).filter(|length| *length > 0).map(|length| &command[..length]);
        let group = group.and_then(|group| sections.get(format!("legbook {}", group.join(" ")).as_str()));
        let section = format!("{section}{}", group.map_or("", String::as_str));
        for option in options(&help) {
            assert!(
                section.contains(&format!("{option} ")) || section.contains(&format!("{option}`")),
                "{name} {option}"
            );
        }
        seen.insert(name);
    }
    let described: BTreeSet<_> = sections
        .keys()
        .filter(|title| title.starts_with("legbook "))
        .map(|title| (*title).to_owned())
        .collect();
    assert_eq!(described, seen, "sections and commands");
}

/// The fields that the section's paragraph about `--json` names.
fn fields(section: &str) -> BTreeSet<String> {
    let about_json = |text: &&str| text.starts_with("`--json`") || text.starts_with("Prints a JSON line");
    let paragraph = section.split("\n\n").map(str::trim_start).find(about_json).unwrap();
    let quoted = paragraph.split('`').skip(1).step_by(2);
    quoted.filter(|word| *word != "--json" && !word.starts_with("runs ")).map(str::to_owned).collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

/// Requires that an answer has the fields that its section names.
#[track_caller]
fn check(sections: &BTreeMap<&str, String>, command: &str, answer: &Value) {
    assert_eq!(keys(answer), fields(&sections[command]), "{command}");
}

#[test]
fn the_reference_names_every_field_of_every_answer() {
    let sections = sections();
    let workspace = Workspace::new();
    let pid = std::process::id().to_string();
    let start = workspace.legbook(["runs", "start", "r1", "--pid", &pid, "--json"]).json();
    check(&sections, "legbook runs start", &start);
    let token = start["token"].as_str().unwrap();
    let write = workspace.legbook_reading(["runs", "write", "r1", "--token", token], r#"{"a": 1}"#).json();
    check(&sections, "legbook runs write", &write);
    let status = workspace.legbook(["runs", "status", "r1", "planning", "--token", token]).json();
    check(&sections, "legbook runs status", &status);
    let lock = workspace.legbook(["runs", "lock", "r1", "--json"]).json();
    check(&sections, "legbook runs lock", &lock);
    for key in keys(&lock["owner"]) {
        assert!(sections["legbook runs lock"].contains(&format!("`{key}`")), "{key}");
    }
    let finish = workspace.legbook(["runs", "finish", "r1", "--token", token]).json();
    check(&sections, "legbook runs finish", &finish);

    let list = workspace.legbook(["runs", "list", "--json"]).json();
    let mut listed = keys(&list["runs"][0]);
    let mut show = keys(&workspace.legbook(["runs", "show", "r1", "--json"]).json());
    assert!(listed.is_subset(&show));
    show.retain(|key| !listed.contains(key));
    assert_eq!(show, fields(&sections["legbook runs show"]));
    listed.insert("runs".to_owned());
    assert_eq!(listed, fields(&sections["legbook runs list"]));

    let diff = workspace.legbook(["runs", "diff", "r1", "1", "3", "--json"]).json();
    let changes = diff["changes"].as_array().unwrap().iter().flat_map(keys);
    assert_eq!(
        keys(&diff).into_iter().chain(changes).collect::<BTreeSet<_>>(),
        fields(&sections["legbook runs diff"])
    );
    let save = workspace.legbook_reading(["stage", "save", "fetch", "--json"], "{}").json();
    check(&sections, "legbook stage save", &save);
    std::fs::create_dir_all(workspace.path().join("legacy/r9")).unwrap();
    std::fs::write(workspace.path().join("legacy/r9/run.json"), r#"{"status": "ok"}"#).unwrap();
    for (command, arguments) in [
        ("legbook runs events", &["runs", "events", "r1"][..]),
        ("legbook runs watch", &["runs", "watch", "r1"]),
        ("legbook runs at", &["runs", "at", "r1", "1"]),
        ("legbook runs export", &["runs", "export", "r1"]),
        ("legbook runs import", &["runs", "import", "legacy/r9"]),
        ("legbook run", &["run", "--", "true"]),
        ("legbook runs project", &["runs", "project", "latest"]),
        ("legbook runs readiness", &["runs", "readiness", "latest"]),
        ("legbook stage begin", &["stage", "begin"]),
        ("legbook stage status", &["stage", "status"]),
        ("legbook stage invalidate", &["stage", "invalidate", "fetch"]),
        ("legbook stage export", &["stage", "export", "stages"]),
        ("legbook stage import", &["stage", "import", "stages"]),
        ("legbook stage done", &["stage", "done"]),
        ("legbook runs recover", &["runs", "recover", "r1"]),
        ("legbook doctor", &["doctor"]),
        ("legbook demo", &["demo"]),
        ("legbook db info", &["db", "info"]),
        ("legbook db path", &["db", "path"]),
        ("legbook db set", &["db", "set", "max-journal-events", "600"]),
    ] {
        let mut asked = workspace.command(["--json"].iter().chain(arguments));
        let answer = Answer::of(asked.env("TMPDIR", workspace.path()).output().unwrap()).json();
        check(&sections, command, &answer);
    }
}

#[test]
fn the_reference_names_every_field_of_the_handoffs_answers() {
    let sections = sections();
    let workspace = Workspace::new();
    let pool = r#"{"domain": "", "tier": "deep", "from_date": "2026-11-01", "to_date": "2026-11-30",
        "context": {"enrichment_source_boundary": null, "requested_sources": null, "lookback_days": 30},
        "source_status": {}, "warnings": ["one"], "nominations": [{"cluster_id": "c", "heuristic_name": "A",
        "heuristic_junk": false, "nomination": {"name": "a", "items": []}}]}"#;
    let leg = |arguments: &[&str], input: &str| {
        workspace.legbook_reading(["--json", "handoff"].iter().chain(arguments), input).json()
    };
    let nominate = leg(&["nominate"], pool);
    check(&sections, "legbook handoff nominate", &nominate);
    let bundle_id = nominate["bundle_id"].as_str().unwrap();
    let judgments = format!(r#"{{"bundle_id": "{bundle_id}", "judgments": [{{"id": "n1"}}]}}"#);
    let judge = leg(&["judge", "-"], &judgments);
    check(&sections, "legbook handoff judge", &judge);
    for key in keys(&judge["nominations"][0]) {
        assert!(sections["legbook handoff judge"].contains(&format!("`{key}`")), "{key}");
    }
    let report = format!(
        r#"{{"bundle_id": "{bundle_id}", "report": {{"topics": [{{"name": "A"}}]}}, "angle_inputs": {{"n1": {{}}}}}}"#
    );
    check(&sections, "legbook handoff report", &leg(&["report", "-"], &report));
    check(&sections, "legbook handoff status", &leg(&["status"], ""));
    check(&sections, "legbook handoff finalize", &leg(&["finalize"], ""));
    check(&sections, "legbook handoff show", &leg(&["show", bundle_id], ""));
    let queue = leg(&["queue"], "");
    check(&sections, "legbook handoff queue", &queue);
    let cover = leg(&["queue", "cover", "A"], "");
    check(&sections, "legbook handoff queue cover", &cover);
    assert_eq!(keys(&queue["topics"][0]), keys(&cover));
    let legacy = workspace.legbook(["handoff", "show", bundle_id, "--legacy"]);
    let other = legacy.expect(0).replace(bundle_id, "other");
    check(&sections, "legbook handoff import", &leg(&["import", "-"], &other));
}
