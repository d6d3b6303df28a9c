//! The host digest: what a host reads of a bundle (contract handoff.md, The host digest).
//!
//! Pure. Capped and fenced, where the stored pool is whole: plain lines that hold nothing a third party wrote, then
//! the evidence inside the fence. The digest is a pointer, and it says so; nothing is computed from it.

use super::engagement::grouped;
use super::fence::{fenced, without_tags};
use super::host_text::{cut, visible_line};
use super::nomination::Nomination;
use super::pool::Head;

const TITLE_CAP: usize = 220;
const SNIPPET_CAP: usize = 420;
const COMMENT_CAP: usize = 340;
/// The longest name of a source that a plain line shows.
const SOURCE_CAP: usize = 40;

/// What a digest says of the bundle besides its nominations.
#[derive(Debug, Clone, Copy)]
pub struct Cover<'a> {
    /// The sweep.
    pub head: &'a Head,
    /// The bundle's id.
    pub bundle_id: &'a str,
    /// The store's path, for the reader.
    pub store: &'a str,
    /// When the bundle expires, as text.
    pub expires_at: &'a str,
    /// Minted for this digest alone.
    pub nonce: &'a str,
}

/// The digest of a bundle, with a newline at the end.
pub fn host_digest(cover: &Cover<'_>, nominations: &[Nomination]) -> String {
    let Cover { head, bundle_id, store, expires_at, nonce } = cover;
    // The user's own words, and still none that could pass for the fence.
    let domain = if head.domain.is_empty() { "global".to_owned() } else { without_tags(&head.domain) };
    let typed = shlex::try_quote(store).unwrap_or_else(|_| "FILE".into());
    let [noun, verb] =
        if nominations.len() == 1 { ["nomination", "awaits"] } else { ["nominations", "await"] };
    let mut digest = format!(
        "{} {noun} {verb} judgment.\n\
         domain: {domain} | window: {} to {} | tier: {}\n\
         bundle_id: {bundle_id}\n\
         store: {store}\n\
         expires: {expires_at}\n\
         This digest is only a pointer; the evidence: legbook --store {typed} handoff show {bundle_id}\n",
        nominations.len(),
        head.from_date,
        head.to_date,
        head.tier,
    );
    for nomination in nominations {
        digest.push_str(&plain_line(nomination));
    }
    digest.push('\n');
    let evidence: String = nominations.iter().map(evidence).collect();
    digest.push_str(&fenced(&evidence, nonce));
    digest
}

/// The line of one id that holds no third-party text: names of sources, and numbers.
fn plain_line(nomination: &Nomination) -> String {
    let sources: Vec<String> = nomination.sources().iter().map(|source| source_name(source)).collect();
    let sources = if sources.is_empty() { "none".to_owned() } else { sources.join(", ") };
    let velocity =
        nomination.seed_score().map_or_else(|| "unknown".to_owned(), |score| format!("{score:.1}"));
    let interactions = grouped(nomination.interactions());
    format!(
        "{} | sources: {sources} | signal: seed velocity {velocity}, {interactions} native interactions\n",
        nomination.id
    )
}

/// A source's name is a word of the engine's. What is no such word is not printed outside the fence.
fn source_name(source: &str) -> String {
    let is_word = source.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if is_word && (1..=SOURCE_CAP).contains(&source.len()) { source.to_owned() } else { "unnamed".to_owned() }
}

fn evidence(nomination: &Nomination) -> String {
    let mut lines = format!("- id: {}\n", nomination.id);
    let mut push = |label: &str, text: &str, cap: usize| {
        let text = cut(&visible_line(text), cap);
        if !text.is_empty() {
            lines.push_str(&format!("  {label}: {text}\n"));
        }
    };
    push("title", &nomination.title(), TITLE_CAP);
    push("snippet", &nomination.snippet().unwrap_or_default(), SNIPPET_CAP);
    push("top comment", &nomination.top_comment().unwrap_or_default(), COMMENT_CAP);
    lines
}
