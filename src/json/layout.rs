//! The punctuation and the white space of a form: shared by the writers of values (`write.rs`) and of kept
//! tokens (`raw.rs`).
//!
//! No scalar is spelled here, and no order checked: the callers open, fill and close as a value is nested.

use super::token::Container;

/// The white space of a form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spacing {
    /// None at all.
    None,
    /// `, ` and `: `, all on one line.
    Line,
    /// Each item on a line of its own, two spaces a level.
    Indented,
}

/// The indentation of sixteen levels, to be copied at once; deeper ones are rare.
const SPACES: &str = "                                ";

/// A text in the making. [`Layout::value`] and [`Layout::key`] set down what comes before a token, and give
/// the place where the caller spells it.
pub(super) struct Layout {
    text: String,
    spacing: Spacing,
    depth: usize,
    /// The innermost open container has nothing in it yet.
    empty: bool,
    /// A key was written; its value comes next.
    after_key: bool,
}

impl Layout {
    pub(super) fn new(spacing: Spacing) -> Self {
        Self { text: String::new(), spacing, depth: 0, empty: true, after_key: false }
    }

    /// Before a value, wherever it stands: whole, as an item, or behind its key.
    pub(super) fn value(&mut self) -> &mut String {
        if self.after_key {
            self.after_key = false;
        } else if self.depth > 0 {
            self.before_item();
        }
        &mut self.text
    }

    /// Before a member's key; [`Layout::colon`] follows it.
    pub(super) fn key(&mut self) -> &mut String {
        self.before_item();
        &mut self.text
    }

    /// Between a key and its value.
    pub(super) fn colon(&mut self) {
        self.text.push_str(if self.spacing == Spacing::None { ":" } else { ": " });
        self.after_key = true;
    }

    /// Begins a container, a value itself.
    pub(super) fn open(&mut self, container: Container) {
        self.value().push(container.opening());
        self.depth += 1;
        self.empty = true;
    }

    /// Ends the innermost container.
    pub(super) fn close(&mut self, container: Container) {
        self.depth = self.depth.saturating_sub(1);
        if !self.empty && self.spacing == Spacing::Indented {
            self.new_line();
        }
        self.text.push(container.closing());
        self.empty = false;
    }

    /// Bytes written so far.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// All that was written.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn before_item(&mut self) {
        let first = std::mem::replace(&mut self.empty, false);
        if !first {
            self.text.push(',');
        }
        match self.spacing {
            Spacing::Indented => self.new_line(),
            Spacing::Line if !first => self.text.push(' '),
            Spacing::Line | Spacing::None => {}
        }
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        match SPACES.get(..self.depth * 2) {
            Some(spaces) => self.text.push_str(spaces),
            None => self.text.extend(std::iter::repeat_n("  ", self.depth)),
        }
    }
}
