//! The byte contract: which JSON goes in, which bytes come out, what is refused and where.

use legbook::error::{JsonError, JsonFault};
use legbook::json::{self, Object, Raw, Value, raw};
use proptest::prelude::*;

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
fn integers_keep_every_digit_up_to_python_s_bound() {
    let longest = "9".repeat(4_300);
    for digits in
        ["0", "-1", "18446744073709551616", "-99999999999999999999999", &longest, &format!("-{longest}")]
    {
        assert_eq!(json::line(&parse(digits)), digits);
        assert_eq!(kept(digits).as_str(), digits);
    }
    assert_eq!(json::line(&parse("-0")), "0");
    assert_eq!(kept("-0").as_str(), "-0");
    for too_long in [format!("[1{longest}]"), format!("[-1{longest}]")] {
        let refused = json::parse(too_long.as_bytes()).map_err(|error| (error.fault, error.offset));
        assert_eq!(refused, Err((JsonFault::IntegerTooLong, 1)));
    }
    // The bound is one of integers: Python reads doubles of any length.
    assert_eq!(json::line(&parse(&format!("0.{longest}1"))), "1.0");
    assert_eq!(json::line(&parse(&format!("1{longest}.0"))), "Infinity");
}

#[test]
fn integers_in_the_signed_range_are_numbers_and_others_are_not() {
    assert_eq!(parse("9223372036854775807").as_i64(), Some(i64::MAX));
    assert_eq!(parse("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(parse("9223372036854775808").as_i64(), None);
    assert_eq!(parse("1.0").as_i64(), None);
    assert_eq!(parse("true").as_i64(), None);
}

#[test]
fn doubles_are_written_as_python_writes_them() {
    let cases = [
        ("0.0", "0.0"),
        ("-0.0", "-0.0"),
        ("0e5", "0.0"),
        ("-0E-5", "-0.0"),
        ("1.0", "1.0"),
        ("100e-2", "1.0"),
        ("1E5", "100000.0"),
        ("1e+5", "100000.0"),
        ("1e15", "1000000000000000.0"),
        ("1e16", "1e+16"),
        ("9999999999999998.0", "9999999999999998.0"),
        ("9999999999999999.0", "1e+16"),
        ("12345678901234567890.0", "1.2345678901234567e+19"),
        ("0.0001", "0.0001"),
        ("0.00012345", "0.00012345"),
        ("0.00001", "1e-05"),
        ("0.000099", "9.9e-05"),
        ("-1.5E-7", "-1.5e-07"),
        ("1e100", "1e+100"),
        ("1e-100", "1e-100"),
        ("0.1", "0.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("123.456", "123.456"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("1e23", "1e+23"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("1.7976931348623159e308", "Infinity"),
        ("1e400", "Infinity"),
        ("-1e400", "-Infinity"),
        ("1e99999999999999999999999", "Infinity"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("5e-324", "5e-324"),
        ("2.4703282292062328e-324", "5e-324"),
        ("2.4703282292062327e-324", "0.0"),
        ("-1e-400", "-0.0"),
        ("1e-99999999999999999999999", "0.0"),
        ("0e99999999999999999999999", "0.0"),
        ("1e00000000000000000000000000002", "100.0"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
        // Two texts of the shortest length are equally near: Python takes the even digit.
        ("1228859505823889.25", "1228859505823889.2"),
        ("5.684341886080801486968994140625e-14", "5.684341886080802e-14"),
    ];
    for (input, output) in cases {
        assert_eq!(json::line(&parse(input)), output, "{input}");
        assert_eq!(kept(input).as_str(), input);
    }
}

#[test]
fn an_exponent_counts_in_full_however_many_zeros_make_up_for_it() {
    let zeros = "0".repeat(1_000_000);
    assert_eq!(json::line(&parse(&format!("0.{zeros}25e1000001"))), "2.5");
    assert_eq!(json::line(&parse(&format!("-25{zeros}e-1000001"))), "-2.5");
    assert_eq!(json::line(&parse(&format!("1{zeros}e-900000"))), "Infinity");
    assert_eq!(json::line(&parse(&format!("0.{zeros}1e900000"))), "0.0");
    assert_eq!(json::line(&parse(&format!("-0.{zeros}"))), "-0.0");
    assert_eq!(json::line(&parse(&format!("0.{zeros}e99999999999999999999"))), "0.0");
    assert_eq!(json::line(&parse(&format!("0.{zeros}1e99999999999999999999"))), "Infinity");
    assert_eq!(json::line(&parse(&format!("1{zeros}.5e-99999999999999999999"))), "0.0");
    // The digit that breaks a tie may stand far behind it.
    assert_eq!(json::line(&parse(&format!("9007199254740993.{zeros}1"))), "9007199254740994.0");
    assert_eq!(json::line(&parse(&format!("9007199254740993.{zeros}"))), "9007199254740992.0");
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

// Writing

#[test]
fn the_forms_differ_in_white_space_order_and_escapes() {
    let text = r#"{"b":[1,{"é":"\u007f😀\u0001/"}],"a":[],"c":{},"A":null,"":true}"#;
    assert_eq!(
        snapshot(text),
        r#"{
  "": true,
  "A": null,
  "a": [],
  "b": [
    1,
    {
      "\u00e9": "\u007f\ud83d\ude00\u0001/"
    }
  ],
  "c": {}
}
"#
    );
    assert_eq!(
        json::indented(&parse(text)),
        r#"{
  "b": [
    1,
    {
      "\u00e9": "\u007f\ud83d\ude00\u0001/"
    }
  ],
  "a": [],
  "c": {},
  "A": null,
  "": true
}"#
    );
    assert_eq!(
        artifact(text).unwrap(),
        "{\n  \"b\": [\n    1,\n    {\n      \"é\": \"\u{7f}😀\\u0001/\"\n    }\n  ],\n  \"a\": [],\n  \"c\": {},\n  \"A\": null,\n  \"\": true\n}"
    );
    assert_eq!(
        json::line(&parse(text)),
        r#"{"b": [1, {"\u00e9": "\u007f\ud83d\ude00\u0001/"}], "a": [], "c": {}, "A": null, "": true}"#
    );
    assert_eq!(
        canonical(&text.replace("true", "0")).unwrap(),
        "{\"\":0,\"A\":null,\"a\":[],\"b\":[1,{\"é\":\"\u{7f}😀\\u0001/\"}],\"c\":{}}"
    );
}

#[test]
fn every_form_writes_a_value_that_is_no_container() {
    for (text, written) in
        [("null", "null"), ("\"é\"", "\"\\u00e9\""), (" 1e3 ", "1000.0"), ("[]", "[]"), ("{}", "{}")]
    {
        assert_eq!(json::line(&parse(text)), written);
        assert_eq!(json::indented(&parse(text)), written);
    }
    assert_eq!(artifact("\"é\"").unwrap(), "\"é\"");
    assert_eq!(canonical("\"é\"").unwrap(), "\"é\"");
    assert_eq!(snapshot("{}"), "{}\n");
}

#[test]
fn control_characters_are_escaped_short_where_there_is_a_short_form() {
    let all: String = (0..=0x20).chain([0x7F]).filter_map(char::from_u32).collect();
    let escaped = concat!(
        r"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f",
        r"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f "
    );
    assert_eq!(json::line(&Value::from(all.as_str())), format!("\"{escaped}\\u007f\""));
    let utf8 = format!("\"{escaped}\u{7f}\"").into_bytes();
    assert_eq!(json::canonical_bytes(&Value::from(all.as_str())), Ok(utf8.clone()));
    assert_eq!(json::artifact_bytes(&Value::from(all.as_str())), Ok(utf8));
}

#[test]
fn keys_are_sorted_by_code_point_and_not_by_code_unit() {
    let text = r#"{"\uffff":1,"\ud83d\ude00":2,"\ue000":3,"\udfff":4,"\ud800":5,"~":6,"\u007f":7,"aa":8,"a":9,"":10}"#;
    let keys: Vec<_> =
        snapshot(text).lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect();
    let expected =
        ["", "a", "aa", "~", "\\u007f", "\\ud800", "\\udfff", "\\ue000", "\\uffff", "\\ud83d\\ude00"]
            .map(|key| format!("\"{key}\""));
    assert_eq!(keys, expected);
}

#[test]
fn an_artifact_with_a_lone_surrogate_is_refused_wherever_it_stands() {
    for text in [r#""\ud800""#, r#"["\udc00\ud800"]"#, r#"{"a":[{"\udfff":1}]}"#, r#"{"a":"😀\ud83d"}"#] {
        let refused = JsonError { offset: 0, fault: JsonFault::LoneSurrogate };
        assert_eq!(artifact(text), Err(refused), "{text}");
        assert_eq!(canonical(text), Err(JsonFault::LoneSurrogate), "{text}");
    }
    assert_eq!(snapshot(r#"{"\ud800":"~\"\\\n\udfff"}"#), "{\n  \"\\ud800\": \"~\\\"\\\\\\n\\udfff\"\n}\n");
}

#[test]
fn canonical_bytes_hold_null_integers_strings_lists_and_objects_only() {
    use JsonFault::*;
    let refused = [
        ("true", NotCanonical),
        ("[false]", NotCanonical),
        (r#"{"a":1.0}"#, NotCanonical),
        ("NaN", NotCanonical),
        ("[[-Infinity]]", NotCanonical),
        ("9223372036854775808", IntegerOutOfRange),
        (r#"{"a":[-9223372036854775809]}"#, IntegerOutOfRange),
        (r#"{"\ud800":1}"#, LoneSurrogate),
    ];
    for (text, fault) in refused {
        assert_eq!(canonical(text), Err(fault), "{text}");
    }
    let accepted = r#"[null,-9223372036854775808,9223372036854775807,"/",[],{}]"#;
    assert_eq!(canonical(accepted).as_deref(), Ok(accepted));
    assert_eq!(canonical("-0").as_deref(), Ok("0"));
}

// Kept tokens

#[test]
fn kept_tokens_come_back_as_they_were_spelled() {
    let text = " {\r\n \"n\" : [ 1.50 , -0 , 1E+2 , 0.10e-01, 18446744073709551616, NaN ,-Infinity, 1e999 ] ,\t\"\\u0061 \\/\" : \"\\u00E9é\\ud800 \\n\", \"n\":null, \"n\" : { } , \"\": [\n] }\n";
    let tokens = "{\"n\":[1.50,-0,1E+2,0.10e-01,18446744073709551616,NaN,-Infinity,1e999],\"\\u0061 \\/\":\"\\u00E9é\\ud800 \\n\",\"n\":null,\"n\":{},\"\":[]}";
    assert_eq!(kept(text).as_str(), tokens);
    assert_eq!(kept(tokens).as_str(), tokens);
    assert_eq!(kept(tokens).into_string(), tokens);
    assert_eq!(kept(text).value().to_value(), Ok(parse(text)));
    assert_eq!(kept("{\"a\":[1.50,{}],\"a\":[]}").value().line(), "{\"a\": [1.50, {}], \"a\": []}");
    assert_eq!(
        kept("{\"a\":[1.50,{}],\"a\":[]}").value().indented(),
        "{\n  \"a\": [\n    1.50,\n    {}\n  ],\n  \"a\": []\n}"
    );
}

#[test]
fn one_member_of_a_kept_object_can_be_taken_verbatim() {
    let pool = kept(r#"{"id": "n1", "\u006eomination": {"x": [1.0, {"y": "\u00e9]}"}], "x": 2e0}, "id": 7}"#);
    let members: Vec<_> = pool
        .value()
        .members()
        .unwrap()
        .map(|(key, value)| (json::line(&key.into()), value.as_str()))
        .collect();
    assert_eq!(
        members,
        [
            ("\"id\"".to_owned(), "\"n1\""),
            ("\"nomination\"".to_owned(), r#"{"x":[1.0,{"y":"\u00e9]}"}],"x":2e0}"#),
            ("\"id\"".to_owned(), "7"),
        ]
    );
    let nomination = pool.value().get("nomination").unwrap();
    assert_eq!(nomination.get("x").unwrap().as_str(), "2e0");
    assert_eq!(pool.value().get("id").unwrap().as_str(), "7");
    assert_eq!(pool.value().get("absent"), None);
    let (_, first) = nomination.members().unwrap().next().unwrap();
    let items: Vec<_> = first.items().unwrap().map(|item| item.as_str()).collect();
    assert_eq!(items, ["1.0", r#"{"y":"\u00e9]}"}"#]);
    assert_eq!(first.to_raw(), kept(r#"[1.0,{"y":"\u00e9]}"}]"#));
}

#[test]
fn what_is_no_container_has_no_members_and_no_items() {
    for text in ["null", "1", "1.5", "true", "\"{}\""] {
        assert!(kept(text).value().members().is_none());
        assert!(kept(text).value().items().is_none());
        assert_eq!(kept(text).value().get("a"), None);
    }
    assert!(kept("[]").value().members().is_none());
    assert!(kept("{}").value().items().is_none());
    assert_eq!(kept("[ ]").value().items().unwrap().count(), 0);
    assert_eq!(kept("{ }").value().members().unwrap().count(), 0);
}

#[test]
fn kept_tokens_can_be_put_into_a_new_value() {
    let put = Raw::object([
        ("quote\"é", Raw::from(&parse(r#"{"b": [1.0, "é\ud800"], "a": {}}"#))),
        ("kept", Raw::array([kept("1.50"), kept(r#"{"z": 1, "z": 2}"#), Raw::array([])])),
        ("none", Raw::object([])),
    ]);
    let tokens =
        r#"{"quote\"\u00e9":{"b":[1.0,"\u00e9\ud800"],"a":{}},"kept":[1.50,{"z":1,"z":2},[]],"none":{}}"#;
    assert_eq!(put.as_str(), tokens);
    assert_eq!(put, kept(tokens));
}

#[test]
fn a_kept_value_of_full_depth_can_still_be_written_inside_another_one() {
    on_a_small_stack(|| {
        let deepest = kept(&nested(DEEPEST));
        let put = Raw::array([deepest.clone()]);
        assert_eq!(put.value().line().replace(' ', ""), put.as_str());
        assert_eq!(put.value().items().unwrap().next(), Some(deepest.value()));
        assert_eq!(put.value().to_value().map_err(|error| error.fault), Err(JsonFault::TooDeep));
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

// Properties

/// Both readers accept the same bytes, refuse them for the same reason, and read the same value.
fn assert_readers_agree(bytes: &[u8]) {
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

/// The walk over the tokens gives what the value gives: the same bytes, or a refusal for the same fault (maybe at another place).
fn assert_artifacts_agree(text: &str) {
    let from_value = json::parse(text.as_bytes()).and_then(|value| json::artifact_bytes(&value));
    let from_text = json::artifact_from_text(text.as_bytes(), usize::MAX);
    match (from_text, from_value) {
        (Ok(from_text), from_value) => {
            assert_eq!(
                Ok(String::from_utf8(from_text).unwrap()),
                from_value.map(|bytes| String::from_utf8(bytes).unwrap())
            );
        }
        (Err(from_text), from_value) => {
            assert_eq!(from_text.fault, from_value.unwrap_err().fault, "{text:?}")
        }
    }
}

/// A JSON string of any code units, lone surrogates among them, some of them escaped.
fn any_string() -> impl Strategy<Value = String> {
    let unit = prop_oneof![
        4 => (0x20_u16..0x7F).boxed(),
        1 => any::<u16>().boxed(),
        1 => (0xD7F0_u16..0xE010).boxed(),
        1 => (0_u16..0x20).boxed(),
    ];
    prop::collection::vec((unit, any::<bool>()), 0..8).prop_map(|units| {
        let spelled = units.into_iter().map(|(unit, escape)| match char::from_u32(u32::from(unit)) {
            Some(plain @ (' ' | '!' | '#'..='[' | ']'..)) if !escape => plain.to_string(),
            _ => format!("\\u{unit:04x}"),
        });
        format!("\"{}\"", spelled.collect::<String>())
    })
}

fn any_scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        "-?[1-9][0-9]{0,40}",
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        prop_oneof![Just("NaN"), Just("Infinity"), Just("-Infinity"), Just("-0"), Just("-0.0")]
            .prop_map(str::to_owned),
        any_string(),
    ]
}

/// A JSON text of any shape, with white space and repeated keys.
fn any_json() -> impl Strategy<Value = String> {
    any_scalar().prop_recursive(5, 40, 6, |inner| {
        let space = prop_oneof![Just(""), Just(" "), Just("\r\n\t")];
        let key = prop_oneof![Just("\"a\"".to_owned()), Just("\"\\u0061\"".to_owned()), any_string()];
        let items = prop::collection::vec(inner.clone(), 0..6);
        let members = prop::collection::vec((key, inner), 0..6);
        prop_oneof![
            (items, space.clone()).prop_map(|(items, space)| {
                format!("[{space}{}{space}]", items.join(&format!("{space},{space}")))
            }),
            (members, space).prop_map(|(members, space)| {
                let members: Vec<_> =
                    members.into_iter().map(|(key, value)| format!("{key}{space}:{space}{value}")).collect();
                format!("{{{space}{}{space}}}", members.join(&format!("{space},{space}")))
            }),
        ]
    })
}

/// A text that is nearly JSON: its tokens in any order.
fn any_tokens() -> impl Strategy<Value = String> {
    const TOKENS: [&str; 29] = [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\"a\"", "0", "1", "-", ".", "e", "+", "E5", "null",
        "true", "NaN", "Infinity", "\\u00e9", "\\ud800", "\\udc00", "\\u", "é", "😀", " ", "\n", "\u{1}",
    ];
    prop::collection::vec(prop::sample::select(&TOKENS[..]), 0..12).prop_map(|tokens| tokens.concat())
}

fn assert_keys_ordered(value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(assert_keys_ordered),
        Value::Object(members) => {
            let keys: Vec<Vec<u32>> = members.keys().map(|key| key.code_points().collect()).collect();
            assert!(keys.is_sorted(), "{keys:?}");
            members.values().for_each(assert_keys_ordered);
        }
        _ => {}
    }
}

#[test]
fn an_artifact_longer_than_allowed_is_refused_before_it_is_whole() {
    let too_long = |text: &str, most| json::artifact_from_text(text.as_bytes(), most).unwrap_err().fault;
    assert_eq!(too_long("[1]", 2), JsonFault::TooLong, "the text itself");
    assert_eq!(too_long("[1,2]", 10), JsonFault::TooLong, "the line breaks make it longer");
    assert_eq!(json::artifact_from_text(b"[1,2]", 14).unwrap(), b"[\n  1,\n  2\n]");
    // 900 levels deep each item takes 1,800 spaces: it must not take the memory before it is refused.
    let deep = format!("{}{}{}", "[".repeat(899), "[1],".repeat(100_000) + "1", "]".repeat(899));
    assert_eq!(too_long(&deep, 1 << 20), JsonFault::TooLong);
}

#[test]
fn no_member_of_a_large_object_is_taken_for_another() {
    // So many that some keys share their hash; every hundredth comes again, twice.
    let member = |round: u32, number: u32| format!("\"{number}\":{}", round * 1_000_000 + number);
    let rounds = (0..3)
        .flat_map(|round| (0..200_000).step_by(if round == 0 { 1 } else { 100 }).map(move |n| (round, n)));
    let members: Vec<String> = rounds.map(|(round, number)| member(round, number)).collect();
    assert_artifacts_agree(&format!("{{{}}}", members.join(",")));
}

#[test]
fn a_value_that_is_passed_over_may_hold_what_no_artifact_can() {
    let lone = br#"{"a": "\ud800", "b": {"\ud800": 0}, "a": 1, "b": 2}"#;
    assert_eq!(json::artifact_from_text(lone, 1000).unwrap(), b"{\n  \"a\": 1,\n  \"b\": 2\n}");
    let kept = json::artifact_from_text(br#"{"a": 1, "a": "\udfff"}"#, 1000).unwrap_err();
    assert_eq!(kept, JsonFault::LoneSurrogate.at(14));
}

proptest! {
    #[test]
    fn a_snapshot_that_is_read_and_written_again_keeps_its_bytes(text in any_json()) {
        let members = json::object([("value", parse(&text))]);
        let written = json::snapshot_bytes(&members);
        let again = json::parse_unique(&written).unwrap();
        assert_keys_ordered(&again);
        prop_assert!(written.iter().all(|byte| matches!(byte, b'\n' | b' '..=b'~')));
        prop_assert_eq!(json::snapshot_bytes(again.as_object().unwrap()), written);
    }

    #[test]
    fn the_other_forms_keep_their_bytes_too(text in any_json()) {
        let value = parse(&text);
        prop_assert_eq!(json::line(&parse(&json::line(&value))), json::line(&value));
        prop_assert_eq!(json::indented(&parse(&json::indented(&value))), json::indented(&value));
        if let Ok(bytes) = json::artifact_bytes(&value) {
            prop_assert_eq!(json::artifact_bytes(&json::parse_unique(&bytes).unwrap()), Ok(bytes));
        }
        if let Ok(bytes) = json::canonical_bytes(&value) {
            let again = json::parse_unique(&bytes).unwrap();
            assert_keys_ordered(&again);
            prop_assert_eq!(json::canonical_bytes(&again), Ok(bytes));
        }
    }

    #[test]
    fn an_artifact_made_from_text_is_the_one_made_from_its_value(text in any_json()) {
        assert_artifacts_agree(&text);
        // Deeper, so that a value that stands in for another one holds repeated keys itself.
        assert_artifacts_agree(&format!("{{\"k\": 1, \"a\": {text}, \"k\": [{text}], \"a\": {{\"a\": 2, \"a\": {text}}}}}"));
    }

    #[test]
    fn an_artifact_is_made_from_no_text_that_the_reader_refuses(text in any_tokens()) {
        assert_artifacts_agree(&text);
        assert_artifacts_agree(&format!("{{\"k\":{text},\"k\":1}}"));
    }

    #[test]
    fn the_two_readers_agree_on_json(text in any_json()) {
        assert_readers_agree(text.as_bytes());
    }

    #[test]
    fn the_two_readers_agree_on_what_is_nearly_json(text in any_tokens()) {
        assert_readers_agree(text.as_bytes());
        assert_readers_agree(format!("[{text}]").as_bytes());
        assert_readers_agree(format!("{{\"k\":{text}}}").as_bytes());
        assert_readers_agree(format!("\"{text}\"").as_bytes());
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        assert_readers_agree(&bytes);
    }

    #[test]
    fn a_cut_text_is_refused_or_read_but_never_a_panic(text in any_json(), at in any::<prop::sample::Index>()) {
        assert_readers_agree(&text.as_bytes()[..at.index(text.len() + 1)]);
    }

    #[test]
    fn a_double_reads_back_as_itself(bits in any::<u64>()) {
        let double = f64::from_bits(bits);
        let written = json::line(&Value::Double(double));
        let Value::Double(read) = parse(&written) else { panic!("{written} is no double") };
        prop_assert!(read.to_bits() == bits || double.is_nan() && read.is_nan(), "{}", written);
    }

    #[test]
    fn a_string_keeps_its_code_units(units in prop::collection::vec(any::<u16>(), 0..16)) {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04X}")).collect();
        let value = parse(&format!("\"{escaped}\""));
        let mut read = Vec::new();
        for code_point in value.as_text().unwrap().code_points() {
            match char::from_u32(code_point) {
                Some(character) => read.extend_from_slice(character.encode_utf16(&mut [0; 2])),
                None => read.push(u16::try_from(code_point).unwrap()),
            }
        }
        prop_assert_eq!(value.as_str().is_some(), String::from_utf16(&units).is_ok());
        prop_assert_eq!(read, units);
    }
}
