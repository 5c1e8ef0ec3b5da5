//! The public names of the crate, as `public.txt` lists them: a change of the list is a change of
//! the interface, and shows in a review.

use std::collections::BTreeSet;
use std::path::Path;

/// Names at the root, modules apart.
const MOST_AT_ROOT: usize = 40;

#[test]
fn public_names_are_those_of_the_list() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = |path: &str| std::fs::read_to_string(crate_folder.join("src").join(path));
    let root = source("lib.rs").unwrap();
    let mut found = BTreeSet::new();
    let mut at_root = 0;
    for name in names(&root) {
        let Some(module) = name.strip_prefix("mod ") else {
            found.insert(format!("secateur::{name}"));
            at_root += 1;
            continue;
        };
        // What `internal` has is for the interfaces of this workspace and may change at any time.
        if module == "internal" {
            continue;
        }
        let text = source(&format!("{module}.rs")).or_else(|_| source(&format!("{module}/mod.rs"))).unwrap();
        found.extend(
            names(&text)
                .iter()
                .map(|name| format!("secateur::{module}::{}", name.trim_start_matches("mod "))),
        );
    }
    assert!(at_root <= MOST_AT_ROOT, "{at_root} names at the root: put the new one into its module");
    let listed = std::fs::read_to_string(crate_folder.join("public.txt")).unwrap();
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let new: Vec<&String> = found.difference(&listed).collect();
    let gone: Vec<&String> = listed.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "the public names have changed; if that is meant, change public.txt and the changelog.\nnew: {new:#?}\ngone: {gone:#?}"
    );
}

/// The public names that a file declares at its top level; a module's name follows `mod `.
fn names(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for item in text.split("\npub ").skip(1) {
        let (kind, rest) = item.split_once(' ').expect("a kind and a name");
        let name = |text: &str| {
            let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            text[..end.unwrap_or(text.len())].to_owned()
        };
        match kind {
            "use" => {
                let used = rest.split(';').next().unwrap_or_default();
                let list = used.rsplit("::").next().unwrap_or_default();
                let list = used.split_once('{').map_or(list, |(_, list)| list.trim_end_matches(['}', '\n']));
                let shown = |one: &str| name(one.rsplit(" as ").next().unwrap_or_default().trim());
                found.extend(list.split(',').map(shown).filter(|name| !name.is_empty()));
            }
            "mod" => found.extend([format!("mod {}", name(rest))]),
            "fn" | "struct" | "enum" | "const" | "static" | "type" | "trait" => found.extend([name(rest)]),
            _ => panic!("a public item that this test does not know: {kind}"),
        }
    }
    found
}
