//! What holds for every text: a fixed point of each form, order, and no panic.

use legbook::json::{self, Value};
use proptest::prelude::*;

use super::artifact::assert_artifacts_agree;
use super::{assert_readers_agree, parse};

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
