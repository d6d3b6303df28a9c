//! The topics of a report: which angle input each belongs to, and its name (contract handoff.md, answers).
//!
//! Pure. A topic finds its angle input by its `id`, else by the `name` that one angle input has. One without a name of its
//! own has the name of its angle input.

use std::collections::HashMap;

use crate::json::{Raw, Value};

use super::host_text::visible_line;
use super::round::text_of;
use super::topic::normalized_name;

/// What a topic of a report belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// The id of its angle input.
    pub(super) id: Option<String>,
    /// Its name on one line, where the queue can count it.
    pub(super) name: Option<String>,
}

/// A link for each topic of `report`, in order. `inputs` are the angle inputs by id.
pub(super) fn links(report: &Value, inputs: &[(String, Raw)]) -> Vec<Link> {
    let input_names: Vec<(&str, Option<String>)> =
        inputs.iter().map(|(id, input)| (id.as_str(), text_of(input.value().get("name")))).collect();
    let named = input_names.iter().filter_map(|(id, name)| Some((*id, name.as_deref()?)));
    let name_of: HashMap<&str, &str> = named.clone().collect();
    // Of two angle inputs with one name the first has it.
    let id_of: HashMap<&str, &str> = named.rev().map(|(id, name)| (name, id)).collect();
    let topics = report.get("topics").and_then(Value::as_array).unwrap_or_default();
    let link = |topic: &Value| {
        let own_name = topic.get("name").and_then(Value::as_str);
        let own_id = topic.get("id").and_then(Value::as_str);
        let id = own_id.filter(|id| input_names.iter().any(|(known, _)| known == id));
        let id = id.or_else(|| id_of.get(own_name?).copied());
        let name = own_name.or_else(|| name_of.get(id?).copied()).map(visible_line);
        Link { id: id.map(str::to_owned), name: name.filter(|name| !normalized_name(name).is_empty()) }
    };
    topics.iter().map(link).collect()
}

/// A warning for each topic that has no name.
pub(super) fn nameless(links: &[Link]) -> impl Iterator<Item = String> {
    let nameless = links.iter().enumerate().filter(|(_, link)| link.name.is_none());
    nameless.map(|(index, _)| {
        format!("report.topics[{index}] has no name with a letter or digit; the queue does not count it")
    })
}
