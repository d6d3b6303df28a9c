//! Doubles: read as Python's `float` reads them, written as its `repr` writes them (contract run-json.md).

/// Reads a double that the tokenizer has let pass: a JSON number, `NaN`, `Infinity` or `-Infinity`.
/// Out of range becomes infinity, too small becomes zero; the nearest double otherwise, ties to even.
pub(super) fn read_double(source: &str) -> f64 {
    source.parse().unwrap_or(f64::NAN)
}

/// Writes a double: the shortest digits that read back, in exponent form below 1e-4 and from 1e16 on.
pub(super) fn push_double(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("NaN");
        return;
    }
    if value.is_sign_negative() {
        out.push('-');
    }
    if value.is_infinite() {
        out.push_str("Infinity");
        return;
    }
    // "d.ddde<exponent>" with the shortest digits that read back.
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (first, others) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    match exponent {
        -4..0 => {
            out.push_str("0.");
            push_zeros(out, exponent.abs_diff(-1));
            out.push_str(first);
            out.push_str(others);
        }
        0..16 => {
            let places = exponent.unsigned_abs() as usize;
            let (whole, fraction) = others.split_at_checked(places).unwrap_or((others, ""));
            out.push_str(first);
            out.push_str(whole);
            push_zeros(out, exponent.unsigned_abs() - whole.len() as u32);
            out.push('.');
            out.push_str(if fraction.is_empty() { "0" } else { fraction });
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            out.push_str(mantissa);
            out.push_str(&format!("e{sign}{:02}", exponent.unsigned_abs()));
        }
    }
}

fn push_zeros(out: &mut String, count: u32) {
    out.extend(std::iter::repeat_n('0', count as usize));
}
