//! A store that is made on a nearly full disk is whole, or is not there.
//!
//! The disk is an 8 MiB tmpfs, which only root can mount. Elsewhere the test says so and does nothing; the faults that
//! `faults` injects into the making of a store cover the same calls one by one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::handoff_cli::POOL;
use crate::support::Workspace;

/// A mounted tmpfs, unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one on `folder`; `None`: this process may not.
    fn mount(folder: &Path) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8m,mode=0700", "legbook-test"]).arg(folder);
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        mounted.then(|| Self(folder.to_path_buf()))
    }

    /// Leaves so many KiB free.
    fn fill(&self, free: u64) {
        fs::write(self.0.join("filler"), vec![0; usize::try_from((8 * 1024 - free) * 1024).unwrap()])
            .unwrap();
    }

    fn clear(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_store_that_a_full_disk_cuts_short_is_not_there_and_the_next_call_makes_it() {
    let commands: [(&[&str], &str); 4] = [
        (&["stage", "save", "fetch"], r#"{"pages": 3}"#),
        (&["stage", "begin"], ""),
        (&["runs", "start", "r1", "--lease", "1h"], ""),
        (&["handoff", "nominate"], POOL),
    ];
    let mut failed = 0;
    for (words, input) in commands {
        for free in (40..=640).step_by(60) {
            let workspace = Workspace::new();
            let Some(disk) = Disk::mount(&workspace.path().join(".legbook")) else {
                eprintln!("no tmpfs can be mounted here: the making of a store is covered by `faults` alone");
                return;
            };
            disk.fill(free);
            let answer = workspace.legbook_reading(words, input);
            let said = format!("{words:?} with {free} KiB free: {answer:?}");
            if workspace.store().exists() {
                let doctor = workspace.legbook(["doctor", "--full", "--warn-ok"]);
                assert!(matches!(doctor.code, 0 | 3), "{said}\n{doctor:?}");
            }
            disk.clear();
            if answer.code != 0 {
                failed += 1;
                assert!(answer.stderr.contains("free space"), "{said}");
                let again = workspace.legbook_reading(words, input);
                assert_eq!(again.code, 0, "{said}\nagain: {again:?}");
            }
            workspace.legbook(["doctor", "--full", "--warn-ok"]).expect(0);
            let left = fs::read_dir(&disk.0).unwrap().map(|entry| entry.unwrap().file_name());
            let left: Vec<_> = left.filter(|name| name.as_encoded_bytes().ends_with(b".tmp")).collect();
            assert!(left.is_empty(), "{said}\nleft {left:?}");
        }
    }
    assert!(failed > 0, "no disk was full");
}
