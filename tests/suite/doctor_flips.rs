//! A store in which one byte is another one: doctor says so, or the byte held nothing, or docs/FORMAT.md lists its column
//! among those that nothing vouches for. It never panics and always ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use legbook::doctor::Outcome;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::doctor::{Clinic, look};

const FLIPS: usize = 2_000;
const SEED: u64 = 0x5EED_0FD0_C70B_0001;

/// The same numbers in each run (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }
}

/// What every query's answer is made of: each table whole, and the schema, by row and column.
type Answers = BTreeMap<String, Vec<BTreeMap<String, Cell>>>;

/// A value: its type, and its bytes or spelling. A damaged text may be none.
type Cell = (rusqlite::types::Type, Vec<u8>);

fn cell(value: ValueRef<'_>) -> Cell {
    let bytes = match value {
        ValueRef::Null => Vec::new(),
        ValueRef::Integer(integer) => integer.to_string().into_bytes(),
        ValueRef::Real(real) => real.to_string().into_bytes(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
    };
    (value.data_type(), bytes)
}

fn ask_everything(store: &Path) -> rusqlite::Result<Answers> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file://{}?immutable=1", store.display());
    let connection = Connection::open_with_flags(uri, flags)?;
    let mut answers = Answers::new();
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name";
    answers.insert("sqlite_schema".into(), rows(&connection, schema)?);
    for pragma in ["user_version", "application_id", "encoding"] {
        answers.insert(pragma.into(), rows(&connection, &format!("PRAGMA {pragma}"))?);
    }
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let names: Vec<String> =
        connection.prepare(names)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for name in names {
        let all = rows(&connection, &format!("SELECT * FROM {name}"))?;
        answers.insert(name, all);
    }
    Ok(answers)
}

fn rows(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<BTreeMap<String, Cell>>> {
    let mut statement = connection.prepare(sql)?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        names.iter().enumerate().map(|(at, name)| Ok((name.clone(), cell(row.get_ref(at)?)))).collect()
    })?;
    rows.collect()
}

/// `table.column` of everything that differs; a table whose rows are others in number counts as whole.
fn differences(before: &Answers, after: &Answers) -> BTreeSet<String> {
    let mut different = BTreeSet::new();
    for (table, rows) in before {
        let now = after.get(table).map(Vec::as_slice).unwrap_or_default();
        if now.len() != rows.len() {
            different.insert(table.clone());
            continue;
        }
        for (row, now) in rows.iter().zip(now) {
            let columns = row.iter().filter(|(name, value)| now.get(*name) != Some(value));
            different.extend(columns.map(|(name, _)| format!("{table}.{name}")));
        }
    }
    different
}

/// `table.column` of each column that docs/FORMAT.md marks with `-`: nothing vouches for it.
pub(crate) fn vouched_by_nothing() -> BTreeSet<String> {
    let format = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/FORMAT.md")).unwrap();
    let mut tables: Vec<&str> = Vec::new();
    let mut columns = BTreeSet::new();
    for line in format.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            tables = heading.split(", ").collect();
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells.len() < 3 || cells.last() != Some(&"-") {
            continue;
        }
        let names = cells[0].split(", ").map(|name| name.trim_matches('`'));
        columns.extend(names.flat_map(|name| tables.iter().map(move |table| format!("{table}.{name}"))));
    }
    columns
}

#[test]
fn of_two_thousand_flipped_bytes_none_deceives_doctor() {
    let clinic = Clinic::new();
    let bytes = fs::read(clinic.store()).unwrap();
    let before = ask_everything(&clinic.store()).unwrap();
    let unvouched = vouched_by_nothing();
    assert!(unvouched.contains("runs.created_at") && unvouched.len() < 130, "{unvouched:?}");

    let mut numbers = Numbers(SEED);
    let flips: Vec<(u64, u8)> = (0..FLIPS)
        .map(|_| {
            let place = numbers.next() % bytes.len() as u64;
            (place, 1 << (numbers.next() % 8))
        })
        .collect();
    let next = AtomicUsize::new(0);
    let [found, held_nothing, not_vouched] = [(); 3].map(|()| AtomicUsize::new(0));
    let deceived = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(2, |count| count.get().min(8)) {
            let store = spare_copy(&clinic, worker);
            let (next, flips, bytes, before, unvouched) = (&next, &flips, &bytes, &before, &unvouched);
            let (found, held_nothing, not_vouched, deceived) =
                (&found, &held_nothing, &not_vouched, &deceived);
            scope.spawn(move || {
                let file = File::options().write(true).open(&store).unwrap();
                while let Some((place, bit)) = flips.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let byte = bytes[usize::try_from(*place).unwrap()];
                    file.write_all_at(&[byte ^ bit], *place).unwrap();
                    let outcome =
                        look(&store, true, None).map_or(Outcome::Unchecked, |report| report.outcome());
                    if matches!(outcome, Outcome::Fail | Outcome::Unchecked) {
                        found.fetch_add(1, Ordering::Relaxed);
                    } else {
                        match ask_everything(&store) {
                            Ok(after) if after == *before => held_nothing.fetch_add(1, Ordering::Relaxed),
                            Ok(after) if differences(before, &after).is_subset(unvouched) => {
                                not_vouched.fetch_add(1, Ordering::Relaxed)
                            }
                            after => {
                                let different = after.map(|after| differences(before, &after));
                                deceived.lock().unwrap().push((*place, *bit, outcome, different));
                                0
                            }
                        };
                    }
                    file.write_all_at(&[byte], *place).unwrap();
                }
            });
        }
    });
    let deceived = deceived.into_inner().unwrap();
    assert!(deceived.is_empty(), "{deceived:#?}");
    let [found, held_nothing, not_vouched] = [found, held_nothing, not_vouched].map(AtomicUsize::into_inner);
    assert_eq!(found + held_nothing + not_vouched, FLIPS);
    eprintln!("found {found}, held nothing {held_nothing}, vouched for by nothing {not_vouched}");
    assert!(found > FLIPS / 8, "only {found} flips were found");
}

/// A copy of the store's file alone, in memory where the system has a place for that. (Its runs stay where they are.)
fn spare_copy(clinic: &Clinic, worker: usize) -> PathBuf {
    let folder = clinic.path().join(format!("worker-{worker}"));
    fs::create_dir(&folder).unwrap();
    let store = folder.join("store.db");
    fs::copy(clinic.store(), &store).unwrap();
    store
}
