//! What the JSON reader and writers refuse.

/// A refused JSON text or value: the fault and where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{fault}", place(*offset, *fault))]
pub struct JsonError {
    /// Bytes of the input before the fault; 0 for a fault found while writing.
    pub offset: usize,
    /// What is wrong.
    pub fault: JsonFault,
}

/// What is wrong with a JSON text. No variant carries the text itself: a snapshot is private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonFault {
    /// The input is not UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// The input starts with a byte order mark.
    #[error("the text starts with a byte order mark")]
    ByteOrderMark,
    /// A character that the grammar does not allow here.
    #[error("unexpected character")]
    UnexpectedCharacter,
    /// The input ends inside a value.
    #[error("the text ends too early")]
    UnexpectedEnd,
    /// Something follows the value.
    #[error("something follows the value")]
    TrailingText,
    /// A raw control character inside a string.
    #[error("a control character stands unescaped in a string")]
    ControlCharacter,
    /// A backslash sequence that JSON does not know.
    #[error("invalid escape in a string")]
    InvalidEscape,
    /// An integer of more than 4,300 digits.
    #[error("an integer has more than 4,300 digits")]
    IntegerTooLong,
    /// Containers nested deeper than 900 levels.
    #[error("nested deeper than 900 levels")]
    TooDeep,
    /// The text, or what is made of it, is longer than the caller allows.
    #[error("the text, or what is made of it, is too long")]
    TooLong,
    /// The top value is not an object.
    #[error("the value is not an object")]
    NotAnObject,
    /// A key stands twice in one object, where that is refused.
    #[error("an object has the same key twice")]
    DuplicateKey,
    /// A lone surrogate, which the wanted encoding can't hold.
    #[error("a lone surrogate cannot be encoded")]
    LoneSurrogate,
    /// A boolean or a number with a fraction, which canonical event bytes can't hold.
    #[error("canonical bytes hold no booleans and no floats")]
    NotCanonical,
    /// An integer outside the signed 64-bit range, in canonical event bytes.
    #[error("an integer is outside the signed 64-bit range")]
    IntegerOutOfRange,
}

impl JsonFault {
    /// This fault at a place: bytes of the input before it.
    pub fn at(self, offset: usize) -> JsonError {
        JsonError { offset, fault: self }
    }
}

/// The words before the fault. A fault of writing has no place in an input.
fn place(offset: usize, fault: JsonFault) -> String {
    match fault {
        JsonFault::LoneSurrogate | JsonFault::NotCanonical | JsonFault::IntegerOutOfRange => {
            "the JSON value can't be written: ".to_owned()
        }
        _ => format!("invalid JSON at byte {offset}: "),
    }
}
