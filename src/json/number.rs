//! Doubles: read as Python's `float` reads them, written as its `repr` writes them (contract run-json.md).
//!
//! The shortest digits come from the `zmij` crate. The standard library's are as short, but where two are
//! equally near it takes another one than Python, which takes the even one.

/// The most bytes of a double that the standard library may read as it stands. It stops counting an exponent
/// at six digits, which is felt where nearly as many zeros make up for it.
const MAX_PLAIN_LENGTH: usize = 60_000;

/// Reads a double that the tokenizer has let pass: a JSON number, `NaN`, `Infinity` or `-Infinity`.
/// The nearest double, ties to even; out of range becomes infinity, too small becomes zero.
pub(super) fn read_double(source: &str) -> f64 {
    if source.len() <= MAX_PLAIN_LENGTH {
        return source.parse().unwrap_or(f64::NAN);
    }
    match source.strip_prefix('-') {
        Some(magnitude) => -Decimal::of(magnitude).nearest_double(),
        None => Decimal::of(source).nearest_double(),
    }
}

/// Writes a double: the shortest digits that read back, in exponent form below 1e-4 and from 1e16 on.
pub(super) fn push_double(out: &mut String, value: f64) {
    if value.is_nan() {
        return out.push_str("NaN");
    }
    if value.is_sign_negative() {
        out.push('-');
    }
    if value.is_infinite() {
        return out.push_str("Infinity");
    }
    if value == 0.0 {
        return out.push_str("0.0");
    }
    let Decimal { digits, point } = Decimal::of(zmij::Buffer::new().format_finite(value.abs()));
    match point {
        -3..=0 => {
            out.push_str("0.");
            push_zeros(out, point.unsigned_abs());
            out.push_str(&digits);
        }
        1..=16 => match digits.split_at_checked(point.unsigned_abs() as usize) {
            Some((whole, fraction)) => {
                out.push_str(whole);
                out.push('.');
                out.push_str(if fraction.is_empty() { "0" } else { fraction });
            }
            None => {
                out.push_str(&digits);
                push_zeros(out, point.unsigned_abs() - digits.len() as u64);
                out.push_str(".0");
            }
        },
        _ => {
            let (first, others) = digits.split_at_checked(1).unwrap_or((&digits, ""));
            out.push_str(first);
            if !others.is_empty() {
                out.push('.');
                out.push_str(others);
            }
            let exponent = point - 1;
            let sign = if exponent < 0 { '-' } else { '+' };
            out.push_str(&format!("e{sign}{:02}", exponent.unsigned_abs()));
        }
    }
}

fn push_zeros(out: &mut String, count: u64) {
    out.extend((0..count).map(|_| '0'));
}

/// A decimal number that is not negative: 0.`digits` times ten to the power of `point`.
struct Decimal {
    /// Without zeros at either end; empty for zero.
    digits: String,
    point: i64,
}

impl Decimal {
    /// Takes digits, maybe with a fraction, maybe with an exponent. An exponent beyond 64 bits becomes the
    /// utmost one.
    fn of(number: &str) -> Self {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let utmost = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
        let exponent: i64 = exponent.parse().unwrap_or(utmost);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        let significant = digits.trim_start_matches('0');
        let leading_zeros = digits.len() - significant.len();
        let point = (whole.len() as i64 - leading_zeros as i64).saturating_add(exponent);
        Self { digits: significant.trim_end_matches('0').to_owned(), point }
    }

    fn nearest_double(&self) -> f64 {
        // Doubles end at 1e309 and 1e-324: what lies beyond this range lies beyond theirs.
        let point = self.point.clamp(-400, 400);
        format!("0.{}e{point}", self.digits).parse().unwrap_or(f64::NAN)
    }
}
