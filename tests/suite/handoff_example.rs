//! The example: one process and three give the same brief, and the skill's commands are the ones that work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::LEGBOOK;

const FILES: [&str; 6] = ["engine.py", "run.sh", "sweep.json", "judgments.json", "angles.json", "brief.md"];

/// A copy of examples/discover, so that nothing is written beside the original.
fn example() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/discover");
    for name in FILES {
        fs::copy(original.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

/// Runs a script in `folder`, with the built program as `legbook`; gives its stdout.
#[track_caller]
fn shell(folder: &Path, script: &str) -> String {
    let programs = Path::new(LEGBOOK).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::iter::once(programs).chain(std::env::split_paths(&path)).collect();
    let output = Command::new("sh")
        .args(["-euc", script])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(path).unwrap())
        .env_remove("LEGBOOK_STORE")
        .env_remove("LEGBOOK_STRICT_EXIT")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn one_process_and_three_give_the_same_brief_to_the_byte() {
    let folder = example();
    let whole = shell(folder.path(), "python3 engine.py whole sweep.json judgments.json angles.json");
    let legs = shell(folder.path(), "sh run.sh round");
    assert_eq!(legs, whole);
    assert_eq!(
        whole,
        fs::read_to_string(folder.path().join("brief.md")).unwrap(),
        "the brief that is checked in"
    );
    let digest = fs::read_to_string(folder.path().join("round/digest.txt")).unwrap();
    assert_eq!(digest.matches("<untrusted_content").count(), 1);
    assert_eq!(digest.matches("</untrusted_content").count(), 1);
}

#[test]
fn the_commands_of_the_skill_work_as_they_stand() {
    let folder = example();
    let skill = include_str!("../../examples/discover/SKILL.md");
    let legs: Vec<&str> =
        skill.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(legs.len(), 3);
    // The host copies the id from what leg 1 printed.
    let digest = shell(folder.path(), legs[0]);
    let bundle_id = digest.lines().find_map(|line| line.strip_prefix("bundle_id: ")).unwrap().to_owned();
    for name in ["judgments.json", "angles.json"] {
        let path = folder.path().join(name);
        let text = fs::read_to_string(&path).unwrap().replace("BUNDLE_ID", &bundle_id);
        fs::write(path, text).unwrap();
    }
    shell(folder.path(), legs[1]);
    let brief = fs::read_to_string(folder.path().join("brief.md")).unwrap();
    assert_eq!(shell(folder.path(), legs[2]), brief);
    assert_eq!(shell(folder.path(), legs[2]), brief, "and again");
    let queue = shell(folder.path(), "legbook handoff queue --save-dir round");
    assert!(queue.contains("Gemma 4 chat templates"), "{queue}");
    shell(folder.path(), "legbook handoff queue cover 'Agents that forget' --save-dir round");
    shell(folder.path(), &format!("legbook handoff report --nothing-solid {bundle_id} --save-dir round"));
    shell(folder.path(), "legbook handoff status --save-dir round");
}
