//! A stage artifact made straight from its text.

use legbook::error::JsonFault;
use legbook::json;

/// The walk over the tokens gives what the value gives: the same bytes, or a refusal for the same fault (maybe at another place).
pub(super) fn assert_artifacts_agree(text: &str) {
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
