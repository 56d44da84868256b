//! The roster ends as the files say, whatever is done to them.

use std::fs;

use proptest::prelude::*;

use crate::{
    fake::good,
    world::{World, summary},
};

/// One thing that somebody does.
#[derive(Debug, Clone)]
enum Deed {
    Write(String, String),
    Put(String, String),
    Remove(String),
    Rename(String, String),
    RemoveGroup,
    ReplaceDirectory,
}

impl Deed {
    /// The files that it is about.
    fn names(&self) -> Vec<&String> {
        match self {
            Self::Write(name, _) | Self::Put(name, _) | Self::Remove(name) => vec![name],
            Self::Rename(from, to) => vec![from, to],
            Self::RemoveGroup | Self::ReplaceDirectory => vec![],
        }
    }
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    const NAMES: [&str; 8] =
        ["x.wasm", "x.yaml", "x.yml", "y.wasm", "y.yaml", "gpu/x.wasm", "gpu/x.yaml", "gpu/z.yaml"];
    let texts = [
        good("v1"),
        good("v2"),
        "bad".to_owned(),
        "settings: v1\n".to_owned(),
        "mode: shadow\n".to_owned(),
        "module: x.wasm\n".to_owned(),
        "module: ../y.wasm\nmode: off\n".to_owned(),
        "mode: of\n".to_owned(),
    ];
    let name = || prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
    let text = prop::sample::select(texts.to_vec());
    let deed = prop_oneof![
        4 => (name(), text.clone()).prop_map(|(name, text)| Deed::Write(name, text)),
        4 => (name(), text).prop_map(|(name, text)| Deed::Put(name, text)),
        2 => name().prop_map(Deed::Remove),
        2 => (name(), name()).prop_map(|(from, to)| Deed::Rename(from, to)),
        1 => Just(Deed::RemoveGroup),
        1 => Just(Deed::ReplaceDirectory),
    ];
    prop::collection::vec(deed, 1..12)
}

fn act(world: &World, deed: &Deed) {
    // Deeds at files that are not there fail, as they do for anybody.
    let _ = match deed {
        Deed::Write(name, text) => {
            world.write(name, text);
            Ok(())
        }
        Deed::Put(name, text) => fs::create_dir_all(world.path(name).parent().unwrap()).map(|()| world.put(name, text)),
        Deed::Remove(name) => fs::remove_file(world.path(name)),
        Deed::Rename(from, to) => fs::rename(world.path(from), world.path(to)),
        Deed::RemoveGroup => fs::remove_dir_all(world.path("gpu")),
        Deed::ReplaceDirectory => fs::remove_dir_all(world.path("")).and_then(|()| fs::create_dir(world.path(""))),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_ends_as_a_fresh_start_would(deeds in deeds()) {
        let world = World::new();
        let mut watched = world.watch();
        for deed in &deeds {
            act(&world, deed);
        }
        // A policy that has lost its sidecar keeps it, which a fresh start cannot know.
        for name in deeds.iter().flat_map(Deed::names).filter(|name| !name.ends_with("wasm")) {
            let path = world.path(name);
            let exists = |ending: &str| path.with_extension(ending).exists();
            if exists("wasm") && !exists("yaml") && !exists("yml") {
                world.write(name, "{}\n");
            }
        }
        let (wanted, failed) = summary(&world.open().roster);
        watched.wait_for(&format!("{wanted:?} and failures of {failed:?}"), |roster| {
            let (mut found, failures) = summary(roster);
            // A version that was good once stays while its files are bad.
            found.retain(|id, _| wanted.contains_key(id));
            found == wanted && failures == failed
        });
    }
}
