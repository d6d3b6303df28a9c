//! `legbook demo`: that it ends as it says, and that its reader can go on with the sqlite3 shell.

use std::path::Path;
use std::process::Command;

use crate::support::Workspace;

fn demo(workspace: &Workspace, arguments: &[&str]) -> crate::support::Answer {
    let mut command = workspace.command(["demo"].iter().chain(arguments));
    command.env("TMPDIR", workspace.path()).env("LEGBOOK_STORE", "/nonsense/store.db");
    crate::support::Answer::of(command.output().unwrap())
}

#[test]
fn every_step_of_the_demo_ends_as_it_should() {
    let workspace = Workspace::new();
    let answer = demo(&workspace, &["--json"]).json();
    for step in answer["steps"].as_array().unwrap() {
        assert_eq!(step["as_expected"], true, "{step}");
    }
    assert_eq!(answer["as_expected"], true);
    let folder = Path::new(answer["folder"].as_str().unwrap());
    assert_eq!(folder.parent().unwrap(), workspace.path());
    for run_id in ["letters", "ledger"] {
        let shown = workspace.legbook([
            "--store",
            answer["store"].as_str().unwrap(),
            "runs",
            "show",
            run_id,
            "--json",
        ]);
        let shown: serde_json::Value = serde_json::from_str(shown.expect(1)).unwrap();
        assert_eq!(shown["status"], "failed");
        assert_eq!(shown["lock_state"], "absent");
        assert_eq!(shown["run_json_current"], true);
    }
}

#[test]
fn what_the_demo_says_to_type_can_be_typed() {
    let workspace = Workspace::new();
    let answer = demo(&workspace, &[]);
    let story = answer.expect(0);
    for part in ["SIGKILL", "run.json behind its checkpoint", "the same: the checkpoint", "run.json missing"]
    {
        assert!(story.contains(part), "{story}");
    }
    let folder = story.lines().find_map(|line| line.strip_prefix("  cd ")).unwrap();
    let mut asked = 0;
    for line in story.lines().filter(|line| line.starts_with("  sqlite3 ")) {
        let output = Command::new("sh").args(["-c", line]).current_dir(folder).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && said.contains("letters") || said.contains("started"),
            "{line}\n{said}"
        );
        asked += 1;
    }
    assert_eq!(asked, 3);
}
