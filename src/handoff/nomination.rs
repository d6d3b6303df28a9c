//! One nomination: its row as the engine gave it, and what legbook reads in it (contract handoff.md, the pool).
//!
//! Pure. The row is kept as tokens. What is read here is only what names, the host digest and the fallbacks need; a
//! row that came out of the store or of a legacy file is read leniently, since nobody can mend it any more.

use crate::json::{Raw, Value};

use super::engagement::{native_interactions, number};
use super::host_text::characters;

/// A nomination of the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Nomination {
    /// `n1`, `n2`, … in pool order.
    pub id: String,
    /// The whole row as tokens, its id in it, so that it says itself which one it is.
    pub row: Raw,
    /// The members of the row as tokens; `null` where one is missing.
    pub members: Members,
    content: Value,
}

/// What a row holds besides its id, as tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    /// Which cluster of the sweep it is.
    pub cluster_id: Raw,
    /// The name that the engine found.
    pub heuristic_name: Raw,
    /// Whether the engine takes it for junk.
    pub heuristic_junk: Raw,
    /// The engine's own: name, score, items, whatever else.
    pub nomination: Raw,
}

impl Nomination {
    /// Reads a row; `None` where it has no id or no `nomination` object.
    pub fn read(row: Raw) -> Option<Self> {
        let null = || Raw::from(&Value::Null);
        let mut id = None;
        let mut members = Members {
            cluster_id: null(),
            heuristic_name: null(),
            heuristic_junk: null(),
            nomination: null(),
        };
        for (key, value) in row.value().members()? {
            match key.as_str() {
                Some("id") => id = Some(value.to_value().ok()?),
                Some("cluster_id") => members.cluster_id = value.to_raw(),
                Some("heuristic_name") => members.heuristic_name = value.to_raw(),
                Some("heuristic_junk") => members.heuristic_junk = value.to_raw(),
                Some("nomination") => members.nomination = value.to_raw(),
                _ => {}
            }
        }
        let id = id?.as_str()?.to_owned();
        let content = members.nomination.value().to_value().ok()?;
        content.as_object()?;
        Some(Self { id, row, members, content })
    }

    /// The nomination of these members, with the row that is stored of it.
    pub(super) fn new(id: &str, members: Members) -> Option<Self> {
        let Members { cluster_id, heuristic_name, heuristic_junk, nomination } = members;
        Self::read(Raw::object([
            ("id", Raw::from(&Value::from(id))),
            ("cluster_id", cluster_id),
            ("heuristic_name", heuristic_name),
            ("heuristic_junk", heuristic_junk),
            ("nomination", nomination),
        ]))
    }

    /// The name that the engine gave it: the heuristic one, else the nomination's own.
    pub fn fallback_name(&self) -> String {
        let heuristic = self.members.heuristic_name.value().to_value().ok().and_then(|name| text(&name));
        heuristic.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| self.own_name())
    }

    /// The junk flag that the engine gave it.
    pub fn fallback_junk(&self) -> bool {
        self.members.heuristic_junk.as_str() == "true"
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
