//! Names made distinct over the whole pool (contract handoff.md, Host text, Collisions).
//!
//! Pure. Two nominations under one name would become one search query and one queue row, so the later one is told
//! apart by a word that its evidence has and the owner's has not. No nomination is ever dropped.

use std::collections::{HashMap, HashSet};

use super::host_text::{fold, words};

/// How many distinguishing words are tried before a number is.
const TRIES: usize = 5;

/// Words too common to tell two topics apart.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "about", "above", "after", "again", "against", "all", "also", "and", "any", "are", "because", "been", "before",
    "being", "below", "between", "both", "but", "can", "cannot", "could", "did", "does", "doing", "don", "down",
    "during", "each", "few", "for", "from", "further", "get", "got", "had", "has", "have", "having", "her", "here",
    "hers", "herself", "him", "himself", "his", "how", "into", "its", "itself", "just", "like", "made", "make", "many",
    "may", "might", "more", "most", "much", "must", "myself", "new", "nor", "not", "now", "off", "once", "one", "only",
    "other", "our", "ours", "ourselves", "out", "over", "own", "same", "shall", "she", "should", "some", "such", "than",
    "that", "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they", "this", "those",
    "through", "too", "under", "until", "upon", "use", "used", "using", "very", "was", "way", "were", "what", "when",
    "where", "which", "while", "who", "whom", "why", "will", "with", "would", "yet", "you", "your", "yours",
    "yourself", "yourselves",
];

/// One nomination as far as its name goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contender {
    /// The name that the host or the heuristic gave.
    pub name: String,
    /// The words of each item: its title and its snippet.
    pub items: Vec<String>,
}

/// The names of `pool` in its order, no two alike when case-folded. The first nomination with a name keeps it.
pub fn distinct_names(pool: &[Contender]) -> Vec<String> {
    let mut taken =
        Taken { pool, owners: HashMap::new(), words: HashMap::new(), next_number: HashMap::new() };
    pool.iter().enumerate().map(|(index, contender)| taken.claim(index, &contender.name)).collect()
}

struct Taken<'a> {
    pool: &'a [Contender],
    /// Case-folded name to the nomination that has it.
    owners: HashMap<String, usize>,
    /// The words of the nominations that were asked for theirs.
    words: HashMap<usize, HashMap<String, Word>>,
    /// Case-folded name to the first number that may be free after it: numbers are never given back.
    next_number: HashMap<String, usize>,
}

/// A word of a nomination's items.
#[derive(Debug, Clone)]
struct Word {
    /// As first met in a form that may stand in a name; `None` where no form may.
    written: Option<String>,
    /// Items that have it.
    items: usize,
}

impl Taken<'_> {
    /// Gives the nomination at `index` the name `wanted`, or the nearest one that is free.
    fn claim(&mut self, index: usize, wanted: &str) -> String {
        let key = fold(wanted);
        let name = match self.owners.get(&key) {
            None => wanted.to_owned(),
            Some(&owner) => self
                .distinguishing_words(index, owner, wanted)
                .into_iter()
                .take(TRIES)
                .map(|word| format!("{wanted} {word}"))
                .find(|name| !self.owners.contains_key(&fold(name)))
                .unwrap_or_else(|| self.numbered(wanted, key)),
        };
        self.owners.insert(fold(&name), index);
        name
    }

    /// The words that tell `index` from `owner`, the strongest first: by items that have it, then alphabetically.
    fn distinguishing_words(&mut self, index: usize, owner: usize, wanted: &str) -> Vec<String> {
        let of_name: HashSet<String> = words(wanted).map(fold).collect();
        let of_owner: HashSet<String> = self.words_of(owner).keys().cloned().collect();
        let mut candidates: Vec<(usize, String, String)> = self
            .words_of(index)
            .iter()
            .filter(|(key, _)| !of_owner.contains(*key) && !of_name.contains(*key))
            .filter_map(|(key, word)| Some((word.items, key.clone(), word.written.clone()?)))
            .collect();
        candidates.sort_by(|(items, key, _), (other_items, other_key, _)| {
            other_items.cmp(items).then_with(|| key.cmp(other_key))
        });
        candidates.into_iter().map(|(_, _, written)| written).collect()
    }

    fn words_of(&mut self, index: usize) -> &HashMap<String, Word> {
        let pool = self.pool;
        self.words.entry(index).or_insert_with(|| {
            pool.get(index).map_or_else(HashMap::new, |contender| item_words(&contender.items))
        })
    }

    fn numbered(&mut self, wanted: &str, key: String) -> String {
        let next = self.next_number.entry(key).or_insert(2);
        loop {
            let name = format!("{wanted} {next}");
            *next += 1;
            if !self.owners.contains_key(&fold(&name)) {
                return name;
            }
        }
    }
}

fn item_words(items: &[String]) -> HashMap<String, Word> {
    let mut all: HashMap<String, Word> = HashMap::new();
    for item in items {
        let mut counted = HashSet::new();
        for written in words(item) {
            let key = fold(written);
            let may_name = is_telling(written, &key);
            let word = all.entry(key.clone()).or_insert(Word { written: None, items: 0 });
            if word.written.is_none() && may_name {
                word.written = Some(written.to_owned());
            }
            if counted.insert(key) {
                word.items += 1;
            }
        }
    }
    all
}

/// More than two characters, not a stop word, and capitalised, with a digit, or at least four long.
fn is_telling(written: &str, key: &str) -> bool {
    let length = written.chars().count();
    let looks_like_a_name =
        length >= 4 || written.starts_with(char::is_uppercase) || written.contains(char::is_numeric);
    length > 2 && looks_like_a_name && STOP_WORDS.binary_search(&key).is_err()
}
