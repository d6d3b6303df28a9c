//! Tokens that are kept as they were spelled.

use legbook::error::JsonFault;
use legbook::json;
use legbook::json::Raw;

use super::{DEEPEST, kept, nested, on_a_small_stack, parse};

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
