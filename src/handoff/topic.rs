//! The key of a topic in the queue (contract handoff.md, queue).
//!
//! Pure. The queue counts a topic across sweeps, whose names for it differ in case and punctuation.

use super::host_text::{is_alphanumeric, one_line};

/// `name` in lower case, punctuation as spaces, spaces collapsed. A name of punctuation only has the empty key.
pub fn normalized_name(name: &str) -> String {
    let spaced: String = name
        .to_lowercase()
        .chars()
        .map(|character| if is_in_word(character) { character } else { ' ' })
        .collect();
    one_line(&spaced)
}

/// Combining marks belong to the letter before them, so they are no punctuation.
fn is_in_word(character: char) -> bool {
    use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
    is_alphanumeric(character) || character.general_category_group() == GeneralCategoryGroup::Mark
}
