//! WASI 0.2 for components: the same frozen environment that core modules get of preview 1 (`componentize/adapter.wat`).
//!
//! Only the functions that a language's runtime calls while it starts, prints or asks for the time have an answer. Any
//! other function of WASI 0.2 is linked, too, and ends the call when it is called: most components import far more than
//! they use.
//!
//! A stream or an event is a number without state, so a guest cannot make the host keep anything. Handles are bounded
//! for each instance, as those of its resources are.

mod io;
mod preview1;
mod world;

use wasmtime::{
    Error, Result, bail,
    component::{Component, InstancePre, Linker, LinkerInstance, ResourceType, types::ComponentItem},
};

pub(crate) use self::{io::write, preview1::PREVIEW1};
use crate::{stop::Stop, store::StoreData};

/// The packages of WASI 0.2.
const PACKAGES: [&str; 7] = ["cli", "clocks", "filesystem", "http", "io", "random", "sockets"];

/// Maximum resource types of the imports. All of WASI 0.2 has about 30, so this is enough for 30 versions at once.
const MAX_RESOURCES: usize = 1_000;

/// An interface of WASI 0.2 that a component imports, or a function of preview 1 that a core module imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WasiImport {
    /// As `wasi:cli/stdout@0.2.0` or `wasi_snapshot_preview1.fd_write`.
    pub name: String,
    /// The substitute that the policy gets, in words.
    pub gets: &'static str,
}

/// The host's resource types by those of the component, which may import one under several names.
#[derive(Default)]
struct Resources(Vec<(ResourceType, ResourceType)>);

/// The interface `cli/stdout` of the import `wasi:cli/stdout@0.2.0`; `None` if it is not of a release of WASI 0.2.
fn interface(import: &str) -> Option<&str> {
    let (interface, version) = import.strip_prefix("wasi:")?.split_once('@')?;
    let patch = version.strip_prefix("0.2.")?;
    let (package, _) = interface.split_once('/')?;
    let is_release = !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit());
    (is_release && PACKAGES.contains(&package)).then_some(interface)
}

/// Whether an import is of a release of WASI 0.2: those are compatible with each other.
pub(crate) fn is_linked(import: &str) -> bool {
    interface(import).is_some()
}

/// Links a component that imports WASI. Other imports must be in the linker already.
///
/// # Errors
/// If an import has another type than in WASI 0.2, or is missing.
pub(crate) fn link(linker: &Linker<StoreData>, component: &Component) -> Result<InstancePre<StoreData>> {
    let mut linker = linker.clone();
    let (ty, engine) = (component.component_type(), component.engine());
    let mut resources = Resources::default();
    for (name, item) in ty.imports(engine) {
        let (Some(interface), ComponentItem::ComponentInstance(instance)) = (interface(name), &item.ty) else {
            continue;
        };
        let mut defined = linker.instance(name)?;
        for (member, item) in instance.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(_) => function(&mut defined, name, interface, member)?,
                ComponentItem::Resource(theirs) => {
                    defined.resource(member, resources.ours(member, theirs)?, |_, _| Ok(()))?;
                }
                _ => {}
            }
        }
    }
    linker.instantiate_pre(component)
}

/// Links one function: its answer in the frozen world, or the end of the call.
fn function(linked: &mut LinkerInstance<'_, StoreData>, import: &str, interface: &str, name: &str) -> Result<()> {
    if world::function(linked, interface, name)? || io::function(linked, interface, name)? {
        return Ok(());
    }
    let called = format!("{import}#{name}");
    linked.func_new(name, move |_, _, _, _| Err(Error::new(Stop::NotProvided(called.clone()))))
}

// === impl WasiImport ===

impl WasiImport {
    pub(crate) fn of(import: &str) -> Self {
        Self { name: import.to_owned(), gets: interface(import).map_or("", gets) }
    }

    /// The functions of preview 1 that a core module imports, which was accepted.
    pub(crate) fn of_core_module(module: &[u8], is_program: bool) -> Vec<Self> {
        let imports = preview1::imports(module, is_program).into_iter();
        imports.map(|(name, gets)| Self { name, gets }).collect()
    }

    /// The interface without `wasi:` and its version, or the name of the function.
    pub fn interface(&self) -> &str {
        interface(&self.name).or_else(|| preview1::function(&self.name)).unwrap_or(&self.name)
    }
}

/// The text of `check` about an interface.
fn gets(interface: &str) -> &'static str {
    match interface {
        "cli/environment" => "one argument, `policy`; no variables",
        "cli/exit" => "the call ends as the fault `panic`",
        "cli/stdin" => "an empty input",
        "cli/stdout" => "log lines at level info",
        "cli/stderr" => "log lines at level warn",
        "cli/terminal-stdin" | "cli/terminal-stdout" | "cli/terminal-stderr" => "no terminal",
        "clocks/monotonic-clock" | "clocks/wall-clock" => "2020-01-01T00:00:00Z, always",
        "filesystem/preopens" => "no directory",
        "io/error" | "io/poll" | "io/streams" => {
            "streams and events of the other interfaces; each event is there at once"
        }
        "random/insecure" | "random/insecure-seed" | "random/random" => "the same bytes each time",
        "sockets/instance-network" | "sockets/ip-name-lookup" => "a network without names",
        "sockets/tcp-create-socket" | "sockets/udp-create-socket" => "an error: not-supported",
        _ => "nothing: a call of one of its functions is the fault `trap`",
    }
}

// === impl Resources ===

impl Resources {
    /// The host's type for a resource: a type with a name here if our functions use it, or else one that only says which
    /// imports are about the same resource.
    fn ours(&mut self, name: &str, theirs: ResourceType) -> Result<ResourceType> {
        if let Some((_, ours)) = self.0.iter().find(|(known, _)| *known == theirs) {
            return Ok(*ours);
        }
        if self.0.len() == MAX_RESOURCES {
            bail!("its imports of WASI have more than {MAX_RESOURCES} resources");
        }
        let ours = io::resource(name).unwrap_or_else(|| ResourceType::host_dynamic(self.0.len() as u32));
        self.0.push((theirs, ours));
        Ok(ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_releases_of_wasi_0_2_are_linked() {
        for import in ["wasi:cli/stdout@0.2.0", "wasi:http/types@0.2.12", "wasi:random/random@0.2.3"] {
            assert!(is_linked(import), "{import}");
        }
        let others = [
            "wasi:cli/stdout@0.3.0",
            "wasi:cli/stdout@0.2.0-rc-2023-12-05",
            "wasi:cli/stdout@0.20.0",
            "wasi:cli/stdout@0.2.",
            "wasi:cli/stdout",
            "wasi:cli@0.2.0",
            "wasi:keyvalue/store@0.2.0",
            "acme:cli/stdout@0.2.0",
        ];
        for import in others {
            assert!(!is_linked(import), "{import}");
        }
    }
}
