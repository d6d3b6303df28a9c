//! One nomination: its row as the engine gave it, and what legbook reads in it (contract handoff.md, the pool).
//!
//! Pure. The row is kept as tokens. What is read here is only what names, the host digest and the fallbacks need; a
//! row that came out of the store or of a legacy file is read leniently, since nobody can mend it any more.

use crate::json::{Raw, RawValue, Value};

use super::engagement::{native_interactions, number};
use super::host_text::characters;

/// A nomination of the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Nomination {
    /// `n1`, `n2`, … in pool order.
    pub id: String,
    /// The whole row as tokens: cluster_id, heuristic_name, heuristic_junk, nomination.
    pub row: Raw,
    content: Value,
}

impl Nomination {
    /// Reads a row; `None` where it holds no `nomination` object.
    pub fn read(id: String, row: Raw) -> Option<Self> {
        let content = row.value().get("nomination")?.to_value().ok()?;
        content.as_object()?;
        Some(Self { id, row, content })
    }

    /// The insides of `nomination` as Python reads them.
    pub(super) fn content(&self) -> &Value {
        &self.content
    }

    /// The row as it is stored: with its id in front, so that it says itself which one it is.
    pub(super) fn stored_row(&self) -> Raw {
        let keys = ["cluster_id", "heuristic_name", "heuristic_junk", "nomination"];
        let id = [("id", Raw::from(&Value::from(self.id.as_str())))];
        Raw::object(id.into_iter().chain(keys.map(|key| (key, self.member(key)))))
    }

    /// The tokens of a member of the row; `null` where it is missing.
    pub fn member(&self, key: &str) -> Raw {
        self.row.value().get(key).map_or_else(|| Raw::from(&Value::Null), RawValue::to_raw)
    }

    /// The name that the engine gave it: the heuristic one, else the nomination's own.
    pub fn fallback_name(&self) -> String {
        let heuristic = self.row.value().get("heuristic_name").and_then(|name| text(&name.to_value().ok()?));
        heuristic.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| self.own_name())
    }

    /// The junk flag that the engine gave it.
    pub fn fallback_junk(&self) -> bool {
        self.row.value().get("heuristic_junk").is_some_and(|junk| junk.as_str() == "true")
    }

    /// The nomination's own name.
    pub fn own_name(&self) -> String {
        self.content.get("name").and_then(text).unwrap_or_default()
    }

    /// The score that the engine's sweep gave it, where it is a finite number.
    pub fn seed_score(&self) -> Option<f64> {
        self.content.get("seed_score").and_then(number)
    }

    /// The items, whatever they are.
    pub fn items(&self) -> &[Value] {
        match self.content.get("items") {
            Some(Value::Array(items)) => items,
            _ => &[],
        }
    }

    /// The title of the first item, else the nomination's own name.
    pub fn title(&self) -> String {
        let title = self.items().first().and_then(|item| item.get("title")).and_then(text);
        title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| self.own_name())
    }

    /// The first snippet that is not blank.
    pub fn snippet(&self) -> Option<String> {
        let mut snippets = self.items().iter().filter_map(|item| item.get("snippet").and_then(text));
        snippets.find(|snippet| !snippet.trim().is_empty())
    }

    /// The best of the items' top comments: the one with the highest score, the first of equals. A comment is a string or
    /// an object with a text and maybe a score.
    pub fn top_comment(&self) -> Option<String> {
        let mut best: Option<(f64, String)> = None;
        for comment in self.items().iter().flat_map(top_comments) {
            let Some(said) = comment_text(comment) else { continue };
            let score = ["score", "likes", "points", "votes"]
                .iter()
                .find_map(|key| comment.get(key).and_then(number));
            let score = score.unwrap_or(f64::NEG_INFINITY);
            if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
                best = Some((score, said));
            }
        }
        best.map(|(_, said)| said)
    }

    /// The sources of its items, each once, in the order of their first item.
    pub fn sources(&self) -> Vec<String> {
        let mut sources: Vec<String> = Vec::new();
        for source in self.items().iter().filter_map(|item| item.get("source").and_then(text)) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        sources
    }

    /// The native interactions of all its items.
    pub fn interactions(&self) -> f64 {
        self.items().iter().map(native_interactions).sum()
    }

    /// Title and snippet of each item: what names are told apart by.
    pub fn item_texts(&self) -> Vec<String> {
        let texts = |item: &Value| {
            let parts = ["title", "snippet"].iter().filter_map(|key| item.get(key).and_then(text));
            parts.collect::<Vec<_>>().join(" ")
        };
        self.items().iter().map(texts).collect()
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(characters(text)),
        _ => None,
    }
}

fn top_comments(item: &Value) -> &[Value] {
    match item.get("metadata").and_then(|metadata| metadata.get("top_comments")) {
        Some(Value::Array(comments)) => comments,
        _ => &[],
    }
}

fn comment_text(comment: &Value) -> Option<String> {
    let said = ["excerpt", "body", "text", "comment"].iter().find_map(|key| comment.get(key).and_then(text));
    text(comment).or(said).filter(|said| !said.trim().is_empty())
}
