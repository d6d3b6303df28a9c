//! The byte contract: which JSON goes in, which bytes come out, what is refused and where.

mod artifact;
mod kept;
mod numbers;
mod properties;
mod write;

use legbook::error::{JsonError, JsonFault};
use legbook::json::{self, Object, Raw, Value, raw};

/// The depth that is still read.
const DEEPEST: usize = 900;
/// The stack of a thread that the standard library starts.
const SMALL_STACK: usize = 2 << 20;

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn snapshot(text: &str) -> String {
    let members = json::parse_object(text.as_bytes()).unwrap();
    String::from_utf8(json::snapshot_bytes(&members)).unwrap()
}

fn artifact(text: &str) -> Result<String, JsonError> {
    json::artifact_bytes(&parse(text)).map(|bytes| String::from_utf8(bytes).unwrap())
}

fn canonical(text: &str) -> Result<String, JsonFault> {
    let bytes = json::canonical_bytes(&parse(text)).map_err(|error| error.fault)?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn kept(text: &str) -> Raw {
    raw::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Both readers accept the same bytes, refuse them for the same reason, and read the same value.
fn assert_readers_agree(bytes: &[u8]) {
    for key in ["a", "status"] {
        let whole = json::parse_object(bytes);
        let text = whole.map(|object| object.get(key.as_bytes()).and_then(Value::as_text).cloned());
        assert_eq!(json::text_under(bytes, key), text);
    }
    match (json::parse(bytes), raw::parse(bytes)) {
        (Ok(value), Ok(kept)) => {
            // NaN is unequal to itself: compare what is written.
            let again = kept.value().to_value().unwrap();
            assert_eq!(json::line(&again), json::line(&value));
            assert_eq!(raw::parse(kept.as_str().as_bytes()).unwrap(), kept);
            assert_eq!(raw::parse(kept.value().line().as_bytes()).unwrap(), kept);
            assert_eq!(raw::parse(kept.value().indented().as_bytes()).unwrap(), kept);
            assert_eq!(Raw::from(&value).value().line(), json::line(&value));
            assert_eq!(Raw::from(&value).value().indented(), json::indented(&value));
        }
        (value, kept) => assert_eq!(value.unwrap_err(), kept.unwrap_err()),
    }
}

// Vectors

/// The lines of a vector file, read by the reader under test.
fn vectors(text: &str) -> Vec<Value> {
    text.lines().map(parse).collect()
}

/// A vector's `input`, and its `output` where the input must not be refused.
fn input_and_output(vector: &Value) -> (&str, Option<&str>) {
    let output = vector.get("output").unwrap();
    assert!(output == &Value::Null || output.as_str().is_some(), "an output that is no text");
    (vector.get("input").unwrap().as_str().unwrap(), output.as_str())
}

#[test]
fn a_text_is_found_at_the_top_only_and_of_a_repeated_key_the_last_value() {
    let under = |text: &str| json::text_under(text.as_bytes(), "status").unwrap();
    let planning = Some("planning".into());
    assert_eq!(
        under(r#"{"inner": {"status": "ok"}, "status": "planning", "list": [{"status": "ok"}]}"#),
        planning
    );
    assert_eq!(under(r#"{"status": "ok", "stat\u0075s": "planning"}"#), planning);
    assert_eq!(under(r#"{"status": "planning", "status": null}"#), None);
    assert_eq!(under(r#"{"status": {"status": "planning"}}"#), None);
    assert_eq!(under(r#"{"status": ["planning"], "a": "status"}"#), None);
}

#[test]
fn snapshot_vectors_come_out_byte_for_byte() {
    for vector in vectors(include_str!("../vectors/snapshot-bytes.jsonl")) {
        let (input, output) = input_and_output(&vector);
        let written = json::parse_object(input.as_bytes()).ok().map(|members| json::snapshot_bytes(&members));
        let written = written.map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(written.as_deref(), output, "{input:?}");
    }
}

#[test]
fn artifact_vectors_come_out_byte_for_byte() {
    for vector in vectors(include_str!("../vectors/artifact-bytes.jsonl")) {
        let (input, output) = input_and_output(&vector);
        let from_text = json::artifact_from_text(input.as_bytes(), usize::MAX).ok();
        assert_eq!(from_text.as_deref(), output.map(str::as_bytes), "{input:?}");
        let written = json::parse(input.as_bytes()).and_then(|value| json::artifact_bytes(&value)).ok();
        let written = written.map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(written.as_deref(), output, "{input:?}");
    }
}

#[test]
fn both_readers_agree_on_every_vector() {
    let files =
        [include_str!("../vectors/snapshot-bytes.jsonl"), include_str!("../vectors/artifact-bytes.jsonl")];
    for vector in files.into_iter().flat_map(vectors) {
        let (input, _) = input_and_output(&vector);
        assert_readers_agree(input.as_bytes());
    }
}

// Reading

#[test]
fn a_refusal_names_the_fault_and_its_place() {
    use JsonFault::*;
    let integer_of_4301_digits = "9".repeat(4_301);
    let cases: &[(&[u8], JsonFault, usize)] = &[
        (b"", UnexpectedEnd, 0),
        (b" \t\r\n", UnexpectedEnd, 4),
        (b"[", UnexpectedEnd, 1),
        (b"[1", UnexpectedEnd, 2),
        (b"[1,", UnexpectedEnd, 3),
        (b"{", UnexpectedEnd, 1),
        (b"{\"a\"", UnexpectedEnd, 4),
        (b"{\"a\":", UnexpectedEnd, 5),
        (b"{\"a\":1", UnexpectedEnd, 6),
        (b"{\"a\":1,", UnexpectedEnd, 7),
        (b"\"", UnexpectedEnd, 1),
        (b"\"a", UnexpectedEnd, 2),
        (b"\"\\", UnexpectedEnd, 2),
        (b"\"\\u", UnexpectedEnd, 3),
        (b"\"\\u00e", UnexpectedEnd, 6),
        (b"-", UnexpectedEnd, 1),
        (b"1.", UnexpectedEnd, 2),
        (b"1e", UnexpectedEnd, 2),
        (b"1e+", UnexpectedEnd, 3),
        (b"tru", UnexpectedEnd, 3),
        (b"-Infinit", UnexpectedEnd, 8),
        (b"]", UnexpectedCharacter, 0),
        (b"[1,]", UnexpectedCharacter, 3),
        (b"[,1]", UnexpectedCharacter, 1),
        (b"[1 2]", UnexpectedCharacter, 3),
        (b"[1}", UnexpectedCharacter, 2),
        (b"{\"a\":1]", UnexpectedCharacter, 6),
        (b"{\"a\":1,}", UnexpectedCharacter, 7),
        (b"{\"a\" 1}", UnexpectedCharacter, 5),
        (b"{\"a\",1}", UnexpectedCharacter, 4),
        (b"{a:1}", UnexpectedCharacter, 1),
        (b"{1:1}", UnexpectedCharacter, 1),
        (b"{,}", UnexpectedCharacter, 1),
        (b"{\"a\":}", UnexpectedCharacter, 5),
        (b"'a'", UnexpectedCharacter, 0),
        (b"+1", UnexpectedCharacter, 0),
        (b".5", UnexpectedCharacter, 0),
        (b"-.5", UnexpectedCharacter, 1),
        (b"-a", UnexpectedCharacter, 1),
        (b"[1.]", UnexpectedCharacter, 3),
        (b"[1.e5]", UnexpectedCharacter, 3),
        (b"[1e5.5]", UnexpectedCharacter, 4),
        (b"[1e]", UnexpectedCharacter, 3),
        (b"[01]", UnexpectedCharacter, 2),
        (b"[-01]", UnexpectedCharacter, 3),
        (b"[0x1]", UnexpectedCharacter, 2),
        (b"[1_0]", UnexpectedCharacter, 2),
        (b"nul ", UnexpectedCharacter, 3),
        (b"True", UnexpectedCharacter, 0),
        (b"nan", UnexpectedCharacter, 1),
        (b"-NaN", UnexpectedCharacter, 1),
        (b"inf", UnexpectedCharacter, 0),
        (b"[1/**/]", UnexpectedCharacter, 2),
        (b"\x0b1", UnexpectedCharacter, 0),
        (b"\x0c1", UnexpectedCharacter, 0),
        (b"\xc2\xa01", UnexpectedCharacter, 0),
        (b"\x001", UnexpectedCharacter, 0),
        (b"1 2", TrailingText, 2),
        (b"01", TrailingText, 1),
        (b"{}{}", TrailingText, 2),
        (b"null\0", TrailingText, 4),
        (b"NaNa", TrailingText, 3),
        (b"\"a\nb\"", ControlCharacter, 2),
        (b"\"\x00\"", ControlCharacter, 1),
        (b"{\"a\x1f\":1}", ControlCharacter, 3),
        (b"[\"\\x41\"]", InvalidEscape, 2),
        (b"\"\\'\"", InvalidEscape, 1),
        (b"\"\\U0041\"", InvalidEscape, 1),
        (b"\"\\\xc3\xa9\"", InvalidEscape, 1),
        (b"\"a\\u00g0\"", InvalidEscape, 2),
        (b"\"\\u+041\"", InvalidEscape, 1),
        (b"\"\\ud800\\u\"", InvalidEscape, 7),
        (b"\"\\ud800\\x\"", InvalidEscape, 7),
        (b"\"\xff\"", NotUtf8, 1),
        (b"\"\xc0\xaf\"", NotUtf8, 1),
        (b"\"\xed\xa0\x80\"", NotUtf8, 1),
        (b"\"\xf4\x90\x80\x80\"", NotUtf8, 1),
        (b"{}\xe2\x98", NotUtf8, 2),
        (b"\xff\xfe{\0}\0", NotUtf8, 0),
        (b"\xef\xbb\xbf{}", ByteOrderMark, 0),
        (b" \xef\xbb\xbf{}", UnexpectedCharacter, 1),
        (integer_of_4301_digits.as_bytes(), IntegerTooLong, 0),
    ];
    for (input, fault, offset) in cases {
        let expected = JsonError { offset: *offset, fault: *fault };
        let shown = String::from_utf8_lossy(input.get(..20).unwrap_or(input));
        assert_eq!(json::parse(input).as_ref(), Err(&expected), "{shown:?}");
        assert_eq!(json::parse_unique(input).as_ref(), Err(&expected), "{shown:?}");
        assert_eq!(json::parse_object(input).as_ref(), Err(&expected), "{shown:?}");
        assert_eq!(raw::parse(input).as_ref(), Err(&expected), "{shown:?}");
    }
}

#[test]
fn a_snapshot_that_is_no_object_is_refused() {
    for text in ["null", " \r\n[{}]", "\t\"{}\"", "1", "1.5", "true", "NaN"] {
        let offset = text.len() - text.trim_start().len();
        let refused = json::parse_object(text.as_bytes());
        assert_eq!(refused, Err(JsonError { offset, fault: JsonFault::NotAnObject }), "{text:?}");
    }
    assert_eq!(json::parse_object(b" { } "), Ok(Object::default()));
}

#[test]
fn an_error_says_where_and_why_and_nothing_of_the_text() {
    let secret = "{\"token\": \"hunter2\", \"k\": hunter2}";
    let error = json::parse(secret.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "invalid JSON at byte 26: unexpected character");
    let error = json::parse_unique(b"{\"hunter2\":1,\"hunter2\":2}").unwrap_err();
    assert_eq!(error.to_string(), "invalid JSON at byte 13: an object has the same key twice");
    // A fault of writing is at no place of an input.
    let error = artifact(r#"["hunter2\ud800"]"#).unwrap_err();
    assert_eq!(error.to_string(), "the JSON value can't be written: a lone surrogate cannot be encoded");
}

#[test]
fn white_space_is_space_tab_cr_and_lf() {
    assert_eq!(
        parse(" \t\r\n{ \t\r\n\"a\" \t\r\n: \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 ] } \n"),
        parse(r#"{"a":[1,2]}"#)
    );
}

#[test]
fn a_repeated_key_keeps_the_first_place_and_the_last_value() {
    assert_eq!(json::line(&parse(r#"{"a":1,"b":2,"a":{"c":3},"\u0061":4}"#)), r#"{"a": 4, "b": 2}"#);
    assert_eq!(json::line(&parse(r#"{"\ud83d\ude00":1,"😀":2}"#)), r#"{"\ud83d\ude00": 2}"#);
}

#[test]
fn a_repeated_key_in_a_host_file_is_refused_at_any_depth() {
    let refused = |text: &str, offset| {
        let error = JsonError { offset, fault: JsonFault::DuplicateKey };
        assert_eq!(json::parse_unique(text.as_bytes()), Err(error), "{text}");
    };
    refused(r#"{"a":1,"a":1}"#, 7);
    refused(r#"{"a":1,"b":2,"\u0061":3}"#, 13);
    refused(r#"{"":1,"":1}"#, 6);
    refused(r#"[[{"x":{"a":1,"a":2}}]]"#, 14);
    refused(r#"{"a":{"b":1},"c":2,"a":{}}"#, 19);
    refused(r#"{"\ud800":1,"\uD800":2}"#, 12);
    refused(r#"{"😀":1,"\ud83d\ude00":2}"#, 10);
    let distinct = r#"{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":1},"A":1,"\ud800":1,"\udc00":1}"#;
    assert_eq!(json::parse_unique(distinct.as_bytes()), Ok(parse(distinct)));
}

#[test]
fn escapes_become_code_points_and_lone_surrogates_stay() {
    let same = |text: &str| assert_eq!(json::line(&parse(text)), text);
    same(r#""\ud800""#);
    same(r#""\udc00\ud800""#);
    same(r#""\ud800\ud83d\ude00\udc00""#);
    same(r#""a\ud800b\udfff""#);
    assert_eq!(parse(r#""\ud83d\ude00""#).as_str(), Some("😀"));
    assert_eq!(parse(r#""\uD83D\uDE00""#).as_str(), Some("😀"));
    assert_eq!(parse(r#""\ud800\udc00\udbff\udfff""#).as_str(), Some("\u{10000}\u{10FFFF}"));
    assert_eq!(parse(r#""\u0041\u00e9\u2603\/\"\\\b\f\n\r\t""#).as_str(), Some("Aé☃/\"\\\u{8}\u{c}\n\r\t"));
    assert_eq!(parse(r#""\ud800""#).as_str(), None);
    let code_points: Vec<_> = parse(r#""\ud800é😀\udfff""#).as_text().unwrap().code_points().collect();
    assert_eq!(code_points, [0xD800, 0xE9, 0x1F600, 0xDFFF]);
}

// Depth

/// `depth` containers inside each other, arrays and objects in turn.
fn nested(depth: usize) -> String {
    let opening: String = (0..depth).map(|level| if level % 2 == 0 { "{\"k\":" } else { "[" }).collect();
    let closing: String = (0..depth).rev().map(|level| if level % 2 == 0 { "}" } else { "]" }).collect();
    format!("{opening}0{closing}")
}

/// Runs on a small stack, so that an overflow is not hidden by a big one.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(SMALL_STACK).spawn(work).unwrap().join().unwrap();
}

#[test]
fn the_deepest_value_goes_through_every_reader_and_writer() {
    on_a_small_stack(|| {
        let text = nested(DEEPEST);
        let value = parse(&text);
        let members = json::parse_object(text.as_bytes()).unwrap();
        assert_eq!(json::parse_unique(text.as_bytes()), Ok(value.clone()));
        assert_eq!(parse(&snapshot(&text)), value);
        assert_eq!(json::parse_object(&json::snapshot_bytes(&members)), Ok(members));
        assert_eq!(json::parse(&json::artifact_bytes(&value).unwrap()), Ok(value.clone()));
        assert_eq!(json::canonical_bytes(&value).unwrap(), text.as_bytes());
        assert_eq!(parse(&json::line(&value)), value);
        assert_eq!(parse(&json::indented(&value)), value);
        let kept = kept(&text);
        assert_eq!(kept.as_str(), text);
        assert_eq!(kept.value().to_value(), Ok(value));
        assert_eq!(raw::parse(kept.value().indented().as_bytes()), Ok(kept));
    });
}

#[test]
fn deeper_values_are_refused_at_the_bracket_that_is_too_deep() {
    on_a_small_stack(|| {
        let too_deep = |text: &str, offset| {
            let error = JsonError { offset, fault: JsonFault::TooDeep };
            assert_eq!(json::parse(text.as_bytes()), Err(error.clone()));
            assert_eq!(json::parse_object(text.as_bytes()), Err(error.clone()));
            assert_eq!(json::parse_unique(text.as_bytes()), Err(error.clone()));
            assert_eq!(raw::parse(text.as_bytes()), Err(error));
        };
        for depth in [DEEPEST + 1, 100_000] {
            too_deep(&nested(depth), DEEPEST / 2 * "{\"k\":[".len());
            too_deep(&"[".repeat(depth), DEEPEST);
            too_deep(&"{\"\":".repeat(depth), DEEPEST * "{\"\":".len());
        }
        // Depth is not breadth: what was closed does not count.
        let wide = format!("[{}0]", "[[]],".repeat(10_000));
        assert!(json::parse(wide.as_bytes()).is_ok());
    });
}

// Values

#[test]
fn truth_is_python_s() {
    for text in ["null", "false", "0", "-0", "0.0", "-0.0", "\"\"", "[]", "{}"] {
        assert!(!parse(text).is_truthy(), "{text}");
    }
    for text in ["true", "1", "-1", "1e-300", "NaN", "Infinity", "\"0\"", "\"\\u0000\"", "[0]", "{\"\":0}"] {
        assert!(parse(text).is_truthy(), "{text}");
    }
}

#[test]
fn a_value_gives_what_it_holds_and_nothing_else() {
    let value = Value::from(json::object([
        ("flag", Value::from(true)),
        ("count", Value::from(i64::MAX)),
        ("list", Value::from(vec![Value::from(-1), Value::from("x".to_owned())])),
        ("flag", Value::from(false)),
    ]));
    assert_eq!(json::line(&value), r#"{"flag": false, "count": 9223372036854775807, "list": [-1, "x"]}"#);
    assert_eq!(value.get("flag").unwrap().as_bool(), Some(false));
    assert_eq!(value.get("list").unwrap().as_array().map(<[Value]>::len), Some(2));
    assert_eq!(value.get("count").unwrap().as_bool(), None);
    assert_eq!(value.get("count").unwrap().as_i64(), Some(i64::MAX));
    assert_eq!(value.get("count").unwrap().as_array(), None);
    assert_eq!(value.get("list").unwrap().as_text(), None);
    assert_eq!(value.get("absent"), None);
    assert_eq!(Value::Null.get("flag"), None);
}
