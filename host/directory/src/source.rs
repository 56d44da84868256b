//! The content of one policy's files, read as one consistent set.

mod facts;
mod files;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use plimsoll_core::{Loader, Module, PolicyConfig};
use plimsoll_system::{
    FileStamp,
    digest::{digest, text_of},
};

pub(crate) use self::facts::{FactFiles, digest_of_texts};
use self::files::{ReadModule, stamp_now};
pub(crate) use self::files::{SidecarText, parse_sidecar, read_module, read_sidecar};
use crate::{
    config::ReadLimits,
    fact_pool::FactPool,
    known_modules::KnownModules,
    refusal::FileRefusal,
    scan::{File, Scan, Sources},
    sidecar::Sidecar,
};

/// The first bytes of each WebAssembly module and component.
const MAGIC: &[u8] = b"\0asm";

/// Stamps of a policy's files; `None` if a file does not exist.
pub(crate) type Stamps = BTreeMap<File, Option<FileStamp>>;

/// The identity of a policy's content: digests of module and sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentDigests {
    /// `sha256:…` of the module.
    pub(crate) module: String,
    /// `sha256:…` of the sidecar's text; none without a sidecar.
    pub(crate) sidecar: Option<String>,
    /// `sha256:…` of the files with facts; none without any.
    pub(crate) facts: Option<String>,
}

/// The content of a policy's files.
pub(crate) struct Content {
    pub(crate) sidecar: Sidecar,
    /// The sidecar's file as messages name it, or the module's if there is none.
    pub(crate) sidecar_label: String,
    pub(crate) module: Module,
    pub(crate) module_label: String,
    pub(crate) digests: ContentDigests,
    /// The sidecar's text; none without a sidecar.
    pub(crate) sidecar_text: Option<String>,
    /// The files with facts.
    pub(crate) facts: FactFiles,
}

/// One reading of a policy's files.
pub(crate) struct Reading {
    /// The stamps of the scan; if a later scan differs, the files are read again.
    pub(crate) stamps: Stamps,
    /// The sidecar's summary, if it can be read; independent of the module.
    pub(crate) summary: Option<SidecarSummary>,
    /// `None` if the files changed while they were read.
    pub(crate) content: Option<Result<Content, FileRefusal>>,
}

/// The part of a sidecar that applies even while its module cannot be loaded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SidecarSummary {
    pub(crate) config: PolicyConfig,
    /// The module that it names.
    pub(crate) module: Option<File>,
}

/// Reads modules, except those that the loader would refuse again, and facts, each content once.
#[derive(Clone, Copy)]
pub(crate) struct ContentReader<'a> {
    pub(crate) known: &'a KnownModules,
    pub(crate) loader: &'a dyn Loader,
    pub(crate) facts: &'a FactPool,
}

// === impl Content ===

impl Content {
    /// Reads a module and its sidecar where they are.
    pub(crate) fn read(
        module: &Path,
        sidecar: Option<&Path>,
        bounds: &ReadLimits,
        facts: &FactPool,
    ) -> Result<Self, FileRefusal> {
        let text = sidecar.map(|path| read_sidecar(None, path)).transpose()?;
        let parsed = parse_sidecar(sidecar, text.as_ref(), bounds)?;
        let directory = sidecar.and_then(Path::parent).unwrap_or(Path::new(""));
        let facts = FactFiles::read(None, directory, &parsed, facts)?;
        let module = read_module(None, module, bounds)?;
        Self::complete(module, sidecar, text, (parsed, facts))
    }

    /// Checks the module's digest. Of a file outside of the root, behind a link, neither the digest nor a byte is shown.
    fn complete(
        module: ReadModule,
        sidecar: Option<&Path>,
        text: Option<SidecarText>,
        (parsed, facts): (Sidecar, FactFiles),
    ) -> Result<Self, FileRefusal> {
        let ReadModule { label: module_label, module, is_outside } = module;
        let module_digest = text_of(module.digest());
        let text = text.map(|text| text.text);
        let sidecar_label = sidecar.map_or_else(|| module_label.clone(), |path| path.display().to_string());
        // The loader quotes the first bytes of what is no module.
        if is_outside && !module.bytes().starts_with(MAGIC) {
            let text = "is a link that leads out of the directory, to a file that is no WebAssembly module";
            return Err(FileRefusal::new(format!("{module_label} {text}")));
        }
        if let Some(wanted) = parsed.digest.as_deref().filter(|wanted| **wanted != *module_digest) {
            return Err(FileRefusal::new(if is_outside {
                format!("{module_label}: its digest is not the one that {sidecar_label} says")
            } else {
                format!("{module_label}: its digest is {module_digest}, and {sidecar_label} says {wanted}")
            }));
        }
        let digests = ContentDigests {
            module: module_digest,
            sidecar: text.as_ref().map(|text| digest(text.as_bytes())),
            facts: facts.digest(),
        };
        Ok(Self { sidecar: parsed, sidecar_label, module, module_label, digests, sidecar_text: text, facts })
    }
}

// === impl ContentReader ===

impl ContentReader<'_> {
    fn read_module(&self, root: &Path, module: &Path, bounds: &ReadLimits) -> Result<ReadModule, FileRefusal> {
        let before = FileStamp::of(module);
        if let Some(error) = self.known.of(before).and_then(|digest| self.loader.refusal(&digest)) {
            return Err(FileRefusal::of_module(&module.display().to_string(), &error));
        }
        let read = read_module(Some(root), module, bounds)?;
        self.known.note(module, before, read.module.digest());
        Ok(read)
    }
}

// === impl SidecarSummary ===

impl SidecarSummary {
    /// Reads a policy's sidecar alone; the defaults where there is none.
    ///
    /// # Errors
    /// If it cannot be read, or there are two.
    pub(crate) fn read(root: &Path, sources: &Sources, bounds: &ReadLimits) -> Result<Self, FileRefusal> {
        if let Some(problem) = &sources.problem {
            return Err(FileRefusal::new(problem));
        }
        let path = sources.sidecar.as_ref().map(|file| file.path(root));
        let text = path.as_deref().map(|path| read_sidecar(Some(root), path)).transpose()?;
        let parsed = parse_sidecar(path.as_deref(), text.as_ref(), bounds)?;
        Ok(Self::of(sources, &parsed, path.as_deref()))
    }

    fn of(sources: &Sources, parsed: &Sidecar, path: Option<&Path>) -> Self {
        let module = parsed.module.as_ref().and_then(|_| module_of(sources, parsed, path).ok());
        Self { config: parsed.config.clone(), module }
    }
}

// === impl Reading ===

impl Reading {
    /// Reads the files of a policy that a scan has found.
    ///
    /// The stamps are compared before and after, so that a sidecar is never paired with another version's module: a
    /// ConfigMap may be swapped in between.
    pub(crate) fn take(
        root: &Path,
        scan: &Scan,
        sources: &Sources,
        bounds: &ReadLimits,
        reader: ContentReader<'_>,
    ) -> Self {
        let mut stamps: Stamps = sources.files().map(|file| (file.clone(), scan.files.get(file).copied())).collect();
        let mut summary = None;
        let content = Self::read(root, scan, sources, bounds, reader, &mut stamps, &mut summary);
        let is_still = |(file, stamp): (&File, &Option<FileStamp>)| *stamp == stamp_now(&file.path(root));
        let content = stamps.iter().all(is_still).then_some(content);
        Self { stamps, summary, content }
    }

    fn read(
        root: &Path,
        scan: &Scan,
        sources: &Sources,
        bounds: &ReadLimits,
        reader: ContentReader<'_>,
        stamps: &mut Stamps,
        summary: &mut Option<SidecarSummary>,
    ) -> Result<Content, FileRefusal> {
        if let Some(problem) = &sources.problem {
            return Err(FileRefusal::new(problem));
        }
        let sidecar = sources.sidecar.as_ref().map(|file| file.path(root));
        let text = sidecar.as_deref().map(|path| read_sidecar(Some(root), path)).transpose()?;
        let parsed = parse_sidecar(sidecar.as_deref(), text.as_ref(), bounds)?;
        *summary = Some(SidecarSummary::of(sources, &parsed, sidecar.as_deref()));
        let module = module_of(sources, &parsed, sidecar.as_deref())?;
        stamps.entry(module.clone()).or_insert_with(|| scan.files.get(&module).copied());
        for file in parsed.facts.iter().filter_map(|used| used.file.as_deref()) {
            let file = File { group: group_of(sources), name: file.into() };
            let stamp = scan.files.get(&file).copied();
            stamps.entry(file).or_insert(stamp);
        }
        let directory = sidecar.as_deref().and_then(Path::parent).unwrap_or(root);
        let facts = FactFiles::read(Some(root), directory, &parsed, reader.facts)?;
        let module = reader.read_module(root, &module.path(root), bounds)?;
        Content::complete(module, sidecar.as_deref(), text, (parsed, facts))
    }
}

/// The module that a policy runs: the one that its sidecar names, else the file with its name.
pub(crate) fn module_of(sources: &Sources, sidecar: &Sidecar, path: Option<&Path>) -> Result<File, FileRefusal> {
    let group = group_of(sources);
    match (&sidecar.module, &sources.module) {
        (Some(named), _) if named.in_root && group.is_empty() => {
            let path = path.unwrap_or(Path::new(""));
            let text = "module: '../' leads out of the directory: expected a .wasm file of the same directory";
            Err(FileRefusal::new(format!("{}: {text}", path.display())))
        }
        (Some(named), _) => {
            let group = if named.in_root { "".into() } else { group };
            Ok(File { group, name: named.name.as_ref().into() })
        }
        (None, Some(module)) => Ok(module.clone()),
        (None, None) => Err(no_module(path.unwrap_or(Path::new("")))),
    }
}

fn group_of(sources: &Sources) -> Arc<str> {
    sources.files().next().map(|file| file.group.clone()).unwrap_or_default()
}

/// The refusal of a sidecar that has no module beside it, and names none.
pub(crate) fn no_module(sidecar: &Path) -> FileRefusal {
    FileRefusal::new(format!(
        "{}: there is no module for this sidecar: expected the file {} or the key 'module'",
        sidecar.display(),
        sidecar.with_extension("wasm").file_name().unwrap_or_default().display(),
    ))
}
