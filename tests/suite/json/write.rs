//! The forms: which bytes a value becomes, and what a form refuses.

use legbook::error::{JsonError, JsonFault};
use legbook::json::{self, Value};

use super::{artifact, canonical, parse, snapshot};

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
