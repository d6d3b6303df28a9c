//! One damaged store for everything that doctor can find: checked, put right where there is a remedy, checked again.
//!
//! tests/fixtures/damage/*.sql are run by the sqlite3 shell on a store that is well (see [`Clinic`]), with STORE, RUNS (the
//! folder of run directories) and HEADS (a heads file made before) in the environment. Their first comments say:
//!
//! * `finds: KIND [RUN]`: exactly these must be found.
//! * `then: clean`: all remedies are run, then nothing may be found. `then: by hand`: where no command is left, the
//!   advice is followed with the script of `do:` (without one: a copy is put back), then nothing may be found.
//!   `then: note`: the exit code is 0, and nothing is to be done.
//! * `schema: as left`: triggers that the damage dropped stay dropped; else they are put back, as one would who hides it.
//! * `needs: root`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use legbook::doctor::{self, Heads, Kind, Outcome, Reason, Remedy, Report, Severity};
use rusqlite::Connection;

use crate::doctor::{Clinic, look, options};
use crate::support::LEGBOOK;

struct Fixture {
    name: String,
    path: PathBuf,
    finds: BTreeSet<String>,
    /// `clean`, `by hand` or `note`.
    then: String,
    by_hand: Option<String>,
    drops_triggers: bool,
    needs_root: bool,
}

impl Fixture {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let said = |key: &str| -> Vec<String> {
            let key = format!("-- {key}: ");
            text.lines().filter_map(|line| line.strip_prefix(&key)).map(str::to_owned).collect()
        };
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let then = said("then");
        let known = [["clean"], ["by hand"], ["note"]];
        assert!(known.iter().any(|known| then == known), "{name}: then {then:?}");
        Self {
            finds: said("finds").into_iter().collect(),
            then: then[0].clone(),
            by_hand: said("do").first().cloned(),
            drops_triggers: said("schema").is_empty() && text.contains("DROP TRIGGER"),
            needs_root: said("needs") == ["root"],
            name,
            path,
        }
    }
}

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/damage");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(Fixture::read).collect()
}

/// A store that is damaged as the fixture says.
struct Patient {
    clinic: Clinic,
    heads: PathBuf,
    /// A copy of the store, made before it was damaged.
    copy: PathBuf,
}

impl Patient {
    fn of(fixture: &Fixture) -> Self {
        let clinic = Clinic::new();
        let heads = clinic.path().join("heads.json");
        let copy = clinic.path().join("copy.db");
        let patient = Self { clinic, heads, copy };
        patient.keep_heads();
        let mut backup = patient.command("sqlite3");
        let output = backup.arg(patient.clinic.store()).arg(".backup copy.db").output().unwrap();
        assert_ran(&fixture.name, &output);
        let dropped_triggers = fixture.drops_triggers.then(|| triggers(&patient.clinic.store()));
        let mut shell = patient.command("sqlite3");
        let input = fs::File::open(&fixture.path).unwrap();
        let output =
            shell.arg("-bail").arg(patient.clinic.store()).stdin(Stdio::from(input)).output().unwrap();
        assert_ran(&fixture.name, &output);
        for (name, sql) in dropped_triggers.unwrap_or_default() {
            let store = Connection::open(patient.clinic.store()).unwrap();
            if !triggers(&patient.clinic.store()).iter().any(|(there, _)| *there == name) {
                store.execute_batch(&sql).unwrap();
            }
        }
        patient
    }

    fn keep_heads(&self) {
        let mut heads = Heads::read(&self.heads).unwrap();
        heads.take_over(&doctor::examine_all(&[self.clinic.store()], options(false, Some(&heads))));
        heads.write().unwrap();
    }

    fn look(&self) -> Report {
        let heads = Heads::read(&self.heads).unwrap();
        look(&self.clinic.store(), true, Some(&heads)).unwrap()
    }

    /// Does what doctor says, and asks it again, until there is nothing to do. What has a command comes first.
    fn treat(&self, fixture: &Fixture, mut report: Report) -> Report {
        let name = &fixture.name;
        for _ in 0..6 {
            let remedies = remedies(&report);
            if remedies.is_empty() {
                return report;
            }
            let statements: Vec<&str> = remedies
                .iter()
                .filter_map(|remedy| {
                    if let Remedy::Sql(sql) | Remedy::Deletion(sql) = remedy {
                        Some(sql.as_str())
                    } else {
                        None
                    }
                })
                .collect();
            // One may make another one needless, so each is followed by a new look.
            // The heads are accepted once the store itself is well.
            let is_command = |remedy: &&Remedy| {
                matches!(remedy, Remedy::Command(words)
                    if remedies.len() == 1 || !words.contains(&"--accept-heads".to_owned()))
            };
            if let Some(command) = remedies.iter().find(is_command) {
                self.apply(name, command);
            } else if !statements.is_empty() {
                self.apply(name, &Remedy::Sql(statements.join("\n")));
            } else {
                self.by_hand(fixture, &remedies);
            }
            report = self.look();
        }
        panic!("{name} does not get well: {report:#?}");
    }

    /// Follows the advice as a person would.
    fn by_hand(&self, fixture: &Fixture, advice: &[Remedy]) {
        let name = &fixture.name;
        assert_eq!(fixture.then, "by hand", "{name}: {advice:?}");
        let put_back = r#"rm -f "$STORE"-wal "$STORE"-shm && cp "$COPY" "$STORE""#;
        let script = match &fixture.by_hand {
            Some(said) if said.starts_with("docs/OPERATIONS.md, ") => &operations(said),
            Some(script) => script,
            None => {
                for advice in advice.iter().filter(|remedy| matches!(remedy, Remedy::Advice(_))) {
                    assert!(advice.text().contains("put back the last copy"), "{name}: {advice:?}");
                }
                put_back
            }
        };
        let output = self.command("sh").args(["-e", "-c", script]).output().unwrap();
        assert_ran(&format!("{name}: {script}"), &output);
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(if program == "legbook" { LEGBOOK } else { program });
        command
            .current_dir(self.clinic.path())
            .env("STORE", self.clinic.store())
            .env("RUNS", self.clinic.store().with_file_name("runs"))
            .env("HEADS", &self.heads)
            .env("COPY", &self.copy)
            .env("LEGBOOK", LEGBOOK);
        command
    }

    fn apply(&self, name: &str, remedy: &Remedy) {
        let output = match remedy {
            Remedy::Command(words) => self.command(&words[0]).args(&words[1..]).output().unwrap(),
            Remedy::Sql(sql) | Remedy::Deletion(sql) => {
                self.command("sqlite3").arg("-bail").arg(self.clinic.store()).arg(sql).output().unwrap()
            }
            Remedy::Advice(text) => unreachable!("{name}: no command in {text}"),
        };
        assert_ran(&format!("{name}: {}", remedy.text()), &output);
    }
}

/// The commands of a section of docs/OPERATIONS.md, for a shell that has STORE and LEGBOOK in its environment.
fn operations(section: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/OPERATIONS.md")).unwrap();
    let heading = section.strip_prefix("docs/OPERATIONS.md, ").unwrap();
    let (_, text) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let (_, text) = text.split_once("```console\n").unwrap();
    let (block, _) = text.split_once("```").unwrap();
    let commands: Vec<&str> = block.lines().map(|line| line.strip_prefix("$ ").unwrap()).collect();
    commands.join("\n").replace("STORE", "\"$STORE\"").replace("legbook ", "\"$LEGBOOK\" ")
}

fn assert_ran(what: &str, output: &Output) {
    let is_sqlite_silent = !String::from_utf8_lossy(&output.stderr).contains("Error");
    assert!(output.status.success() && is_sqlite_silent, "{what}: {output:?}");
}

fn triggers(store: &Path) -> Vec<(String, String)> {
    let store = Connection::open(store).unwrap();
    let mut statement = store.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn found(report: &Report) -> BTreeSet<String> {
    let named = |word: &str, run_id: Option<&str>| match run_id {
        Some(run_id) => format!("{word} {run_id}"),
        None => word.to_owned(),
    };
    let findings = report.findings.iter().map(|found| named(found.kind.word(), found.run_id.as_deref()));
    let runs = report.runs.iter().filter_map(|run| Some(named(run.reason?.word(), Some(&run.run_id))));
    findings.chain(runs).collect()
}

fn remedies(report: &Report) -> Vec<Remedy> {
    let to_do = report.findings.iter().filter(|finding| finding.kind.severity() > Severity::Note);
    let findings = to_do.map(|finding| finding.remedy.clone());
    let runs = report.runs.iter().filter_map(|run| run.remedy.clone());
    let mut remedies: Vec<Remedy> = Vec::new();
    for remedy in findings.chain(runs) {
        if !remedies.contains(&remedy) {
            remedies.push(remedy);
        }
    }
    remedies
}

fn check(fixture: &Fixture) {
    let name = &fixture.name;
    if fixture.needs_root && !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: {name} needs root");
        return;
    }
    let patient = Patient::of(fixture);
    let report = patient.look();
    assert_eq!(found(&report), fixture.finds, "{name}: {report:#?}");
    assert_eq!(report.outcome() == Outcome::Ok, fixture.then == "note", "{name}");
    for said in
        report.findings.iter().map(|finding| &finding.what).chain(report.runs.iter().map(|run| &run.detail))
    {
        assert!(said.chars().count() <= 240, "{name}: {said}");
    }
    let after = patient.treat(fixture, report);
    assert_eq!(after.outcome(), Outcome::Ok, "{name}: {after:#?}");
}

#[test]
fn each_damage_is_found_and_put_right_where_there_is_a_remedy() {
    let fixtures = fixtures();
    let waiting = Mutex::new(fixtures.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().next();
                    let Some(fixture) = next else { break };
                    let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(fixture)));
                    if checked.is_err() {
                        failures.lock().unwrap().push(&fixture.name);
                    }
                }
            });
        }
    });
    assert_eq!(failures.into_inner().unwrap(), Vec::<&String>::new());
}

#[test]
fn everything_that_doctor_can_find_has_a_damage() {
    let shown: BTreeSet<String> = fixtures()
        .iter()
        .flat_map(|fixture| &fixture.finds)
        .map(|found| found.split(' ').next().unwrap().to_owned())
        .collect();
    let kinds = Kind::ALL.iter().map(|kind| kind.word());
    let all: BTreeSet<String> =
        kinds.chain(Reason::ALL.iter().map(|reason| reason.word())).map(str::to_owned).collect();
    // No store is of a newer format in this way: its directory was refused.
    let newer = Reason::NewerFormat.word().to_owned();
    let shown: BTreeSet<String> = shown.into_iter().chain([newer]).collect();
    assert_eq!(shown, all);
}

#[test]
fn every_name_in_the_table_of_rules_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let format = fs::read_to_string(root.join("docs/FORMAT.md")).unwrap();
    let (_, section) = format.split_once("\n## Rules, and who holds them\n").unwrap();
    let rows: Vec<&str> = section
        .lines()
        .skip_while(|line| *line != "| --- | --- | --- | --- | --- |")
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert!(rows.len() > 20, "{rows:?}");
    let schema = fs::read_dir(root.join("migrations")).unwrap();
    let schema: String = schema.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    for row in rows {
        let cells: Vec<&str> =
            row.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, trigger, finding, fixture, reader] = cells[..] else { panic!("{row}") };
        assert!(trigger == "-" || schema.contains(&format!("CREATE TRIGGER {trigger} ")), "{row}");
        let path = root.join(format!("tests/fixtures/damage/{fixture}.sql"));
        let finds = fs::read_to_string(path).unwrap_or_default();
        assert!(fixture == "-" || finds.contains(&format!("-- finds: {finding}")), "{row}");
        assert!(reader == "-" || root.join(reader).is_file(), "{row}");
    }
}
