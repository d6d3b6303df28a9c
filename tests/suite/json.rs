//! The byte contract of run.json, of stage artifacts and of canonical bytes.

use legbook::json::{self, Value};

/// The lines of a vector file, read by the reader under test.
fn vectors(text: &str) -> Vec<Value> {
    text.lines().map(|line| json::parse(line.as_bytes()).unwrap()).collect()
}

/// The vector's `input`, and its `output` where the input must not be refused.
fn input_and_output(vector: &Value) -> (&str, Option<&str>) {
    (vector.get("input").unwrap().as_str().unwrap(), vector.get("output").unwrap().as_str())
}

#[test]
fn snapshot_vectors_come_out_byte_for_byte() {
    for vector in vectors(include_str!("../vectors/snapshot-bytes.jsonl")) {
        let (input, output) = input_and_output(&vector);
        let written = json::parse_object(input.as_bytes()).ok().map(|object| json::snapshot_bytes(&object));
        assert_eq!(written.as_deref(), output.map(str::as_bytes), "{input:?}");
    }
}

#[test]
fn artifact_vectors_come_out_byte_for_byte() {
    for vector in vectors(include_str!("../vectors/artifact-bytes.jsonl")) {
        let (input, output) = input_and_output(&vector);
        let written = json::parse(input.as_bytes()).and_then(|value| json::artifact_bytes(&value)).ok();
        assert_eq!(written.as_deref(), output.map(str::as_bytes), "{input:?}");
    }
}
