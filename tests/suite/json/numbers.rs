//! Integers of any size and doubles, as Python reads and writes them.

use legbook::error::JsonFault;
use legbook::json;

use super::{kept, parse};

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
