//! The one tokenizer: the grammar that both readers share (contract run-json.md, reading).
//!
//! It checks everything a text can get wrong (encoding, grammar, escapes, length of integers, depth) and
//! hands out tokens in order. What the tokens become is the business of `parse.rs` (a value) and `raw.rs`
//! (the same tokens again). It holds its own stack of open containers, so that no input can overflow the
//! thread's.

use std::ops::Range;

use super::value::Text;
use crate::error::{JsonError, JsonFault};

/// The deepest nesting that is read: containers inside each other, the outermost counted (contract
/// run-json.md).
pub(super) const MAX_DEPTH: usize = 900;

/// The most digits of an integer; Python's own bound (contract run-json.md).
const MAX_INTEGER_DIGITS: usize = 4_300;

/// Bytes of a string that are looked at together: many keys are hardly longer.
const BLOCK: usize = 8;

/// One step through a text. Commas and colons are checked and left out.
#[derive(Debug)]
pub(super) enum Token<'a> {
    /// `{` or `[`
    Open(Container),
    /// `}` or `]`, of the container that is open.
    Close(Container),
    /// A member's key; its value follows.
    Key(Quoted<'a>),
    /// A string as a value.
    String(Quoted<'a>),
    /// A number without fraction and exponent, as written (`-0` too).
    Integer(&'a str),
    /// A number with one of them as written, or `NaN`, `Infinity`, `-Infinity`.
    Double(&'a str),
    /// `true` or `false`
    Bool(bool),
    /// `null`
    Null,
}

/// What [`Tokens::next`] gives. Whatever reads a token gives it in this form: to wrap each anew on its way would take a
/// quarter of the time.
type Next<'a> = Result<Option<Token<'a>>, JsonError>;

/// The two kinds of container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array,
}

impl Container {
    /// The bracket that opens it.
    pub(super) fn opening(self) -> char {
        match self {
            Self::Object => '{',
            Self::Array => '[',
        }
    }

    /// The bracket that closes it.
    pub(super) fn closing(self) -> char {
        match self {
            Self::Object => '}',
            Self::Array => ']',
        }
    }
}

/// A string token.
#[derive(Debug)]
pub(super) struct Quoted<'a> {
    /// As written, quotes and escapes included.
    pub(super) source: &'a str,
    /// What stands between the quotes.
    content: Content<'a>,
}

#[derive(Debug)]
enum Content<'a> {
    /// No escape in it: the source is the text.
    Plain(&'a str),
    /// With its escapes resolved.
    Resolved(Text),
}

impl Quoted<'_> {
    /// The text's generalized UTF-8 bytes.
    pub(super) fn text_bytes(&self) -> &[u8] {
        match &self.content {
            Content::Plain(text) => text.as_bytes(),
            Content::Resolved(text) => text.as_bytes(),
        }
    }

    /// Whether no escape stands in it.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.content, Content::Plain(_))
    }

    /// The text that it stands for.
    pub(super) fn into_text(self) -> Text {
        match self.content {
            Content::Plain(text) => Text::from(text),
            Content::Resolved(text) => text,
        }
    }
}

/// What the grammar allows next.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Value,
    KeyOrClose,
    ItemOrClose,
    CommaOrClose,
    End,
}

/// The tokens of one text.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    text: &'a str,
    /// Bytes read.
    at: usize,
    /// Where the latest token begins.
    start: usize,
    open: Vec<Container>,
    max_depth: usize,
    expected: Expected,
}

impl<'a> Tokens<'a> {
    /// The tokens of a text that nobody has checked yet.
    ///
    /// # Errors
    /// [`JsonFault::NotUtf8`], [`JsonFault::ByteOrderMark`].
    pub(super) fn of_bytes(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes).map_err(|error| JsonFault::NotUtf8.at(error.valid_up_to()))?;
        if text.starts_with('\u{FEFF}') {
            return Err(JsonFault::ByteOrderMark.at(0));
        }
        Ok(Self { max_depth: MAX_DEPTH, ..Self::of_checked(text) })
    }

    /// The tokens of a text that was read before. Its depth is not bounded again: a value that was within the
    /// bound may since stand deeper inside another one.
    pub(super) fn of_checked(text: &'a str) -> Self {
        Self { text, at: 0, start: 0, open: Vec::new(), max_depth: usize::MAX, expected: Expected::Value }
    }

    /// The tokens of the value that stands in `range` of a text that was read before. Their offsets are the text's.
    pub(super) fn of_part(text: &'a str, range: Range<usize>) -> Self {
        Self { at: range.start, ..Self::of_checked(text.get(..range.end).unwrap_or_default()) }
    }

    /// The member of an object whose key begins at `at` of a text that was read before: its key comes next.
    pub(super) fn at_key(text: &'a str, at: usize) -> Self {
        let object = vec![Container::Object];
        Self { at, open: object, expected: Expected::KeyOrClose, ..Self::of_checked(text) }
    }

    /// The next token; none after the end of the value, when nothing but white space follows it.
    ///
    /// # Errors
    /// Every [`JsonFault`] of the grammar, at its place. After an error the tokens are of no more use.
    pub(super) fn next(&mut self) -> Next<'a> {
        self.skip_white_space();
        if let (Expected::CommaOrClose, Some(b',')) = (self.expected, self.peek()) {
            self.at += 1;
            self.skip_white_space();
            return match self.open.last() {
                Some(Container::Object) => self.key(),
                _ => self.value(),
            };
        }
        match (self.expected, self.peek()) {
            (Expected::End, None) => Ok(None),
            (Expected::End, Some(_)) => Err(JsonFault::TrailingText.at(self.at)),
            (Expected::KeyOrClose, Some(b'}')) | (Expected::ItemOrClose, Some(b']')) => self.close(),
            (Expected::CommaOrClose, _) => self.close(),
            (Expected::KeyOrClose, _) => self.key(),
            (Expected::Value | Expected::ItemOrClose, _) => self.value(),
        }
    }

    /// Passes over one whole value and gives its source; none where the open container closes instead.
    pub(super) fn next_value(&mut self) -> Result<Option<&'a str>, JsonError> {
        let depth = self.open.len();
        let Some(first) = self.next()? else { return Ok(None) };
        if matches!(first, Token::Close(_)) {
            return Ok(None);
        }
        let start = self.start;
        while self.open.len() > depth {
            self.next()?;
        }
        Ok(Some(self.since(start)))
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Bytes before the latest token.
    pub(super) fn offset(&self) -> usize {
        self.start
    }

    /// Bytes up to the end of the latest token; behind a key, up to the end of its colon.
    pub(super) fn end(&self) -> usize {
        self.at
    }

    /// Passes over the value of the latest key, which was read before and ends at `end`.
    pub(super) fn pass_to(&mut self, end: usize) {
        self.at = end;
        self.expected = Expected::CommaOrClose;
    }

    fn value(&mut self) -> Next<'a> {
        self.start = self.at;
        match self.peek() {
            Some(b'{') => return self.open(Container::Object, Expected::KeyOrClose),
            Some(b'[') => return self.open(Container::Array, Expected::ItemOrClose),
            _ => self.after_value(),
        }
        match self.peek() {
            Some(b'"') => Ok(Some(Token::String(self.quoted()?))),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'n') => self.word("null", Token::Null),
            Some(b't') => self.word("true", Token::Bool(true)),
            Some(b'f') => self.word("false", Token::Bool(false)),
            Some(b'N') => self.word("NaN", Token::Double("NaN")),
            Some(b'I') => self.word("Infinity", Token::Double("Infinity")),
            _ => Err(self.unexpected()),
        }
    }

    fn open(&mut self, container: Container, inside: Expected) -> Next<'a> {
        if self.open.len() >= self.max_depth {
            return Err(JsonFault::TooDeep.at(self.at));
        }
        self.at += 1;
        self.open.push(container);
        self.expected = inside;
        Ok(Some(Token::Open(container)))
    }

    fn close(&mut self) -> Next<'a> {
        self.start = self.at;
        match (self.open.last(), self.peek()) {
            (Some(&container @ Container::Object), Some(b'}'))
            | (Some(&container @ Container::Array), Some(b']')) => {
                self.at += 1;
                self.open.pop();
                self.after_value();
                Ok(Some(Token::Close(container)))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn after_value(&mut self) {
        self.expected = if self.open.is_empty() { Expected::End } else { Expected::CommaOrClose };
    }

    /// A key and the colon behind it.
    fn key(&mut self) -> Next<'a> {
        self.start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        let key = self.quoted()?;
        self.skip_white_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected());
        }
        self.at += 1;
        self.expected = Expected::Value;
        Ok(Some(Token::Key(key)))
    }

    fn word(&mut self, word: &str, token: Token<'a>) -> Next<'a> {
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        Ok(Some(token))
    }

    fn number(&mut self) -> Next<'a> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
            if self.peek() == Some(b'I') {
                return self.word("Infinity", Token::Double("-Infinity"));
            }
        }
        let digits = match self.peek() {
            Some(b'0') => {
                self.at += 1;
                1
            }
            _ => self.digits()?,
        };
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            whole = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let source = self.since(start);
        match whole {
            true if digits > MAX_INTEGER_DIGITS => Err(JsonFault::IntegerTooLong.at(start)),
            true => Ok(Some(Token::Integer(source))),
            false => Ok(Some(Token::Double(source))),
        }
    }

    /// Passes over digits, one at least; gives their number.
    fn digits(&mut self) -> Result<usize, JsonError> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.unexpected());
        }
        self.at += count;
        Ok(count)
    }

    /// A string, from its opening quote to its closing one.
    fn quoted(&mut self) -> Result<Quoted<'a>, JsonError> {
        let start = self.at;
        self.at += 1;
        let mut resolved: Option<Text> = None;
        loop {
            let run = self.plain_run();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    let content = match resolved {
                        None => Content::Plain(run),
                        Some(mut text) => {
                            text.push_str(run);
                            Content::Resolved(text)
                        }
                    };
                    return Ok(Quoted { source: self.since(start), content });
                }
                Some(b'\\') => {
                    let text = resolved.get_or_insert_default();
                    text.push_str(run);
                    text.push(self.escape()?);
                }
                Some(_) => return Err(JsonFault::ControlCharacter.at(self.at)),
                None => return Err(self.unexpected()),
            }
        }
    }

    /// Passes over the characters that stand for themselves in a string.
    fn plain_run(&mut self) -> &'a str {
        let start = self.at;
        let length = run_without(self.rest(), |byte| (byte == b'"') | (byte == b'\\') | (byte < b' '));
        self.at += length;
        self.since(start)
    }

    /// One escape, or the two of a surrogate pair: the code point that they stand for.
    fn escape(&mut self) -> Result<u32, JsonError> {
        let backslash = self.at;
        self.at += 1;
        let Some(kind) = self.peek() else { return Err(self.unexpected()) };
        self.at += 1;
        let character = match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(backslash),
            _ => return Err(JsonFault::InvalidEscape.at(backslash)),
        };
        Ok(u32::from(character))
    }

    /// What follows `\u`. A high surrogate takes the low one behind it along, where there is one; else it
    /// stands alone.
    fn unicode_escape(&mut self, backslash: usize) -> Result<u32, JsonError> {
        let unit = self.four_hex_digits(backslash)?;
        if !(0xD800..0xDC00).contains(&unit) || !self.rest().starts_with(b"\\u") {
            return Ok(unit);
        }
        let second = self.at;
        self.at += 2;
        let low = self.four_hex_digits(second)?;
        if (0xDC00..0xE000).contains(&low) {
            return Ok(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
        }
        self.at = second;
        Ok(unit)
    }

    fn four_hex_digits(&mut self, backslash: usize) -> Result<u32, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(byte) = self.peek() else { return Err(self.unexpected()) };
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(JsonFault::InvalidEscape.at(backslash));
            };
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn skip_white_space(&mut self) {
        let white_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().iter().take_while(white_space).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The source from `start` up to here. Both are next to an ASCII character or an end, so that no
    /// character is cut.
    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The fault of a place where the grammar allows something else.
    fn unexpected(&self) -> JsonError {
        let fault =
            if self.peek().is_none() { JsonFault::UnexpectedEnd } else { JsonFault::UnexpectedCharacter };
        fault.at(self.at)
    }
}

/// How many bytes stand before the first one that is `special`: a test without a branch (`|`, not `||`).
pub(super) fn run_without(bytes: &[u8], special: impl Fn(u8) -> bool) -> usize {
    // A fold does not stop early, so that the compiler can do a block in one step. Nearly all of them are plain.
    let is_plain = |block: &&[u8]| !block.iter().fold(false, |found, byte| found | special(*byte));
    let run = bytes.chunks_exact(BLOCK).take_while(is_plain).count() * BLOCK;
    let rest = bytes.get(run..).unwrap_or_default();
    run + rest.iter().position(|byte| special(*byte)).unwrap_or(rest.len())
}
