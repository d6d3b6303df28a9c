//! Each remedy that `doctor --legacy`, import and recovery print is run as printed, and then it is seen to have helped.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::legacy_trees::{LegacyRun, picture};
use crate::support::{Answer, Workspace};

const JOURNAL: &str = "events/lifecycle.jsonl";

/// What doctor says of the directory `r`: its reason, and its remedy.
fn judged(workspace: &Workspace) -> (String, serde_json::Value) {
    let answer = workspace.legbook(["doctor", "--legacy", "r", "--full", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    let run = &said["stores"][0]["runs"][0];
    (run["reason"].as_str().unwrap().to_owned(), run["remedy"].clone())
}

/// Runs a command as a person types it.
fn typed(workspace: &Workspace, command: &str) {
    let output = Command::new("sh").args(["-c", command]).current_dir(workspace.path()).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
}

/// The commands of legbook in a help text.
fn commands(text: &str) -> Vec<Vec<String>> {
    let help = text.split("help: ").nth(1).unwrap_or(text);
    let words = |command: &str| shlex::split(command.trim().trim_end_matches(", then")).unwrap();
    help.split(';')
        .flat_map(|part| part.split("legbook ").skip(1))
        .map(|command| words(command.split(", then").next().unwrap()))
        .collect()
}

#[test]
fn what_doctor_prints_of_a_run_json_or_a_partial_line_ends_the_finding() {
    let run_json = |at: &Path| at.join("run.json");
    type Spoil<'a> = &'a dyn Fn(&Path);
    let older = LegacyRun::new("r", &["started"]).run_json.unwrap();
    let spoils: [(&str, Spoil<'_>); 5] = [
        ("run.json missing with valid checkpoint", &|at| fs::remove_file(run_json(at)).unwrap()),
        ("run.json unparseable with valid checkpoint", &|at| fs::write(run_json(at), "{\"torn").unwrap()),
        ("run.json behind its checkpoint", &|at| fs::write(run_json(at), &older).unwrap()),
        ("run.json does not match checkpoint", &|at| fs::write(run_json(at), "{\"mine\": 1}\n").unwrap()),
        ("partial tail", &|at| {
            let journal = fs::read_to_string(at.join(JOURNAL)).unwrap();
            fs::write(at.join(JOURNAL), journal + "{\"event").unwrap();
        }),
    ];
    for (reason, spoil) in spoils {
        let workspace = Workspace::new();
        let directory = LegacyRun::new("r", &["started", "planning"]).write(&workspace.path());
        let whole = picture(&directory);
        spoil(&directory);
        let spoiled = picture(&directory);
        let (said, remedy) = judged(&workspace);
        assert_eq!(said, reason);
        typed(&workspace, remedy["command"].as_str().unwrap());
        assert_eq!(judged(&workspace).0, "checkpoint bytes match run.json", "{reason}");
        let mended = picture(&directory);
        for (path, content) in &whole {
            assert_eq!(mended[path].1, content.1, "{reason}: {path:?}");
        }
        for content in spoiled.values() {
            assert!(mended.values().any(|kept| kept.1 == content.1), "{reason}: nothing is lost");
        }
    }
}

#[test]
fn the_last_whole_copy_helps_against_damage() {
    type Spoil = fn(&Path);
    let spoils: [(&str, Spoil); 4] = [
        ("malformed chain", |at| fs::write(at.join(JOURNAL), "{}\n").unwrap()),
        ("empty journal", |at| fs::write(at.join(JOURNAL), "").unwrap()),
        ("checkpoint fault", |at| fs::remove_dir_all(at.join("events/recovery-checkpoints")).unwrap()),
        ("run.json cannot be read", |at| {
            fs::rename(at.join("run.json"), at.join("elsewhere")).unwrap();
            symlink("elsewhere", at.join("run.json")).unwrap();
        }),
    ];
    for (reason, spoil) in spoils {
        let workspace = Workspace::new();
        let directory = LegacyRun::new("r", &["started", "planning"]).write(&workspace.path());
        typed(&workspace, "cp -a r copy");
        spoil(&directory);
        let (said, remedy) = judged(&workspace);
        assert_eq!(said, reason);
        let advice = remedy["advice"].as_str().unwrap();
        match reason {
            "run.json cannot be read" => {
                assert!(advice.contains("a regular file of its own"), "{advice}");
                typed(&workspace, "mv r/elsewhere r/run.json");
            }
            _ => {
                assert!(advice.contains("put back the last copy that was whole"), "{advice}");
                typed(&workspace, "mv r broken && cp -a copy r");
            }
        }
        assert_eq!(judged(&workspace).0, "checkpoint bytes match run.json", "{reason}");
    }
}

#[test]
fn a_directory_beyond_the_limits_is_imported_with_the_commands_that_doctor_prints() {
    let workspace = Workspace::new();
    let mut legacy_run = LegacyRun::new("r", &["started"]);
    while legacy_run.lines.len() < 2_100 {
        let key = format!("key-{}", legacy_run.lines.len());
        legacy_run.append("run.planning.completed", &key, legbook::json::Object::default());
    }
    legacy_run.write(&workspace.path());
    let (reason, remedy) = judged(&workspace);
    assert_eq!(reason, "bound exceeded");
    LegacyRun::new("small", &["started"]).write(&workspace.path());
    workspace.legbook(["runs", "import", "small"]).expect(0);
    let commands = commands(remedy["advice"].as_str().unwrap());
    assert_eq!(commands.len(), 2, "{commands:?}");
    for command in commands {
        workspace.legbook(command).expect(0);
    }
    assert!(workspace.legbook(["runs", "show", "r"]).stdout.contains("2100 events"));
}

/// Runs the commands that a refusal prints; a printed token takes the place of TOKEN.
fn follow(workspace: &Workspace, refused: &Answer) {
    let mut token = None;
    for command in commands(&refused.stderr) {
        let command = command.into_iter().map(|word| match (word.as_str(), &token) {
            ("TOKEN", Some(token)) => String::clone(token),
            _ => word,
        });
        let answer = workspace.legbook(command);
        answer.expect(0);
        let printed = answer.stdout.lines().find_map(|line| line.strip_prefix("token "));
        token = printed.map(|printed| printed.trim().to_owned()).or(token);
    }
}

#[test]
fn an_unfinished_imported_run_is_ended_by_what_is_printed() {
    for exported in [false, true] {
        for verb in ["recover", "finish"] {
            let workspace = Workspace::new();
            LegacyRun::new("r", &["started", "planning"]).write(&workspace.path());
            workspace.legbook(["runs", "import", "r"]).expect(0);
            if exported {
                workspace.legbook(["runs", "export", "r"]).expect(0);
            }
            let refused = workspace.legbook(["runs", verb, "r"]);
            assert_eq!(refused.code, 2, "{refused:?}");
            if exported && verb == "finish" {
                continue;
            }
            follow(&workspace, &refused);
            let shown = workspace.legbook(["runs", "show", "r", "--json"]);
            let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
            assert_eq!((&shown["status"], &shown["lock_state"]), (&"failed".into(), &"absent".into()));
            workspace.legbook(["runs", "recover", "r"]).expect(0);
        }
    }
}

#[test]
fn behind_a_link_the_real_directory_is_named() {
    let workspace = Workspace::new();
    let real = workspace.path().join("elsewhere");
    let directory = LegacyRun::new("r", &["started"]).write(&real.join("runs"));
    fs::create_dir(workspace.path().join("project")).unwrap();
    symlink(&real, workspace.path().join("project/.brigade")).unwrap();
    symlink(&directory, workspace.path().join("linked")).unwrap();
    for named in ["project", "linked"] {
        for (call, code) in [(&["doctor", "--legacy"][..], 3), (&["runs", "import"][..], 2)] {
            let refused = workspace.legbook([call, &[named]].concat());
            let said = refused.refused(code, "it is a symbolic link");
            let path = said.trim().rsplit(": ").next().unwrap();
            let path = shlex::split(path).unwrap().concat();
            workspace.legbook(call.iter().copied().chain([path.as_str()])).expect(0);
        }
    }
}
