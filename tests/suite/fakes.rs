//! What several suites need: a clock that stands, an observer that cuts a process short, the vectors.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use legbook::clock::{Clock, SystemClock, parse_time};
use legbook::db::{Store, StoreOptions};
use legbook::json::{self, Value};
use legbook::step::{Observer, Step};

/// A clock that shows what it is told, and moves only when somebody sleeps or sets it.
#[derive(Debug)]
pub(crate) struct SetClock(Mutex<DateTime<Utc>>);

impl SetClock {
    pub(crate) fn at(text: &str) -> Arc<Self> {
        Arc::new(Self(Mutex::new(parse_time(text).unwrap())))
    }

    pub(crate) fn set(&self, text: &str) {
        *self.0.lock().unwrap() = parse_time(text).unwrap();
    }

    pub(crate) fn advance(&self, seconds: i64) {
        *self.0.lock().unwrap() += chrono::TimeDelta::seconds(seconds);
    }
}

impl Clock for SetClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }

    fn random(&self, buffer: &mut [u8]) -> std::io::Result<()> {
        SystemClock.random(buffer)
    }

    fn sleep(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
        std::thread::yield_now();
    }
}

/// Panics at one step, as a process that dies there, where that is asked for.
#[derive(Debug, Default)]
pub(crate) struct CutAt(Mutex<Option<Step>>);

impl CutAt {
    pub(crate) fn next(&self, step: Option<Step>) {
        *self.0.lock().unwrap() = step;
    }
}

impl Observer for CutAt {
    fn reached(&self, step: Step) {
        let cut = *self.0.lock().unwrap() == Some(step);
        assert!(!cut, "cut short at step {}", step.number());
    }
}

/// Runs `work`, which is expected to be cut short by a [`CutAt`].
pub(crate) fn cut_short<T>(work: impl FnOnce() -> T) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    assert!(outcome.is_err(), "the work was not cut short");
}

/// A store in `folder` with `options`.
pub(crate) fn store_in(folder: &Path, options: StoreOptions) -> Store {
    Store::open(folder.join("store.db"), options).unwrap()
}

/// The lines of tests/vectors/`name`.
pub(crate) fn vectors(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| json::parse(line.as_bytes()).unwrap()).collect()
}

/// The member `key` as text.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no text {key}"))
}

/// The member `key` as a list.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    match value.get(key) {
        Some(Value::Array(items)) => items,
        _ => panic!("no list {key}"),
    }
}
