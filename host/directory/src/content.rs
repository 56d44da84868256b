//! The content of one policy's files, read as one consistent set.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use plimsoll_core::{FactSource, Mode, Module, excerpt};
use plimsoll_system::{
    FileStamp,
    bounded_file::{ReadFileError, read_file},
    digest::{digest, hex, sha256, text_of},
};

use crate::{
    DirectoryConfig,
    scan::{File, PolicyId, Scan, Sources},
    sidecar::{MAX_BYTES, Sidecar},
    source::{Source, cel_interpreter},
};

/// Maximum bytes of an error's text.
const MAX_TEXT_BYTES: usize = 2_000;

/// Bytes of a content's digest in the name of its facts: enough to tell the contents of one file apart.
const NAMED_DIGEST_BYTES: usize = 8;

/// Stamps of a policy's files; `None` if a file does not exist.
pub(crate) type Stamps = BTreeMap<File, Option<FileStamp>>;

/// Why a policy's files are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRefusal {
    /// File, place, the problem and the expected content.
    pub(crate) text: String,
    /// Whether the failure may be transient: the machine was at fault, or busy.
    pub(crate) is_transient: bool,
    /// Whether the files were in force and were rolled back after their first calls.
    pub(crate) is_rollback: bool,
}

/// The identity of a policy's content.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ContentDigests {
    /// `sha256:…` of the module, or of the interpreter and the rule together.
    pub(crate) module: String,
    /// `sha256:…` of the sidecar's text; none without a sidecar.
    pub(crate) sidecar: Option<String>,
    /// `sha256:…` of the files with facts; none without any.
    pub(crate) facts: Option<String>,
}

/// A sidecar as it was read; the defaults where there is none.
#[derive(Debug, Default)]
pub(crate) struct SidecarFile {
    /// The file as messages name it; none without a sidecar.
    pub(crate) label: Option<String>,
    /// None without a sidecar.
    pub(crate) text: Option<String>,
    pub(crate) sidecar: Sidecar,
    /// The module that it names, if it is not the file with the policy's name.
    pub(crate) named_module: Option<File>,
}

/// The content of a policy's files.
pub(crate) struct Content {
    pub(crate) sidecar: Arc<SidecarFile>,
    pub(crate) module: Module,
    pub(crate) module_label: String,
    pub(crate) digests: ContentDigests,
    /// The texts of the files with facts, by file name.
    pub(crate) fact_texts: BTreeMap<String, String>,
    /// The facts of these files, each with its name among all facts.
    pub(crate) facts: BTreeMap<String, (String, Arc<FactSource>)>,
}

// === impl SidecarFile ===

impl SidecarFile {
    /// Reads the sidecar that a scan has found.
    pub(crate) fn read(config: &DirectoryConfig, sources: &Sources) -> Result<Self, FileRefusal> {
        if let Some(problem) = &sources.problem {
            return Err(FileRefusal::new(problem));
        }
        let path = sources.sidecar.as_ref().map(|file| file.path(&config.path));
        let mut read = Self::at(path.as_deref(), config)?;
        if let Some(named) = &read.sidecar.module {
            let group = sources.group();
            if named.in_root && group.is_empty() {
                let text = "module: '../' leads out of the directory: expected a .wasm file of the same directory";
                return Err(FileRefusal::new(format!("{}: {text}", path.unwrap_or_default().display())));
            }
            let group = if named.in_root { "".into() } else { group };
            read.named_module = Some(File { group, name: named.name.as_ref().into() });
        }
        Ok(read)
    }

    /// Reads the sidecar at this path.
    pub(crate) fn at(path: Option<&Path>, config: &DirectoryConfig) -> Result<Self, FileRefusal> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text = read_text(path, "sidecar", "YAML text")?;
        Self::of_text(path.display().to_string(), text, config)
    }

    pub(crate) fn of_text(label: String, text: String, config: &DirectoryConfig) -> Result<Self, FileRefusal> {
        let sidecar =
            Sidecar::parse(&text, config.max_memory).map_err(|error| FileRefusal::new(format!("{label}:{error}")))?;
        Ok(Self { label: Some(label), text: Some(text), sidecar, named_module: None })
    }

    /// The module that runs the rule: the one given, or the interpreter if the rule is in the sidecar.
    ///
    /// # Errors
    /// If there is none, or a rule in both.
    pub(crate) fn source(&self, module: Option<PathBuf>) -> Result<Source, FileRefusal> {
        let label = self.label.as_deref().unwrap_or_default();
        match (&self.sidecar.cel, module) {
            (None, Some(module)) => Ok(Source::Module(module)),
            (Some(_), None) => Ok(Source::Cel),
            (None, None) => Err(no_module(Path::new(label))),
            (Some(_), Some(module)) => Err(FileRefusal::new(format!(
                "{label}: cel: there is a module, too, {}: expected the rule in one of them",
                module.display()
            ))),
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.sidecar.config.mode == Mode::Off
    }
}

// === impl Content ===

impl Content {
    /// Reads the files of a policy that a scan has found, and the stamps of all of them. `None` if one of them has
    /// changed since the scan: a sidecar is never paired with the module of another version, though a ConfigMap may be
    /// swapped in between.
    pub(crate) fn read(
        config: &DirectoryConfig,
        scan: &Scan,
        sources: &Sources,
        sidecar: Result<Arc<SidecarFile>, FileRefusal>,
    ) -> (Stamps, Option<Result<Self, FileRefusal>>) {
        let root = &config.path;
        let mut files: Vec<File> = sources.files().cloned().collect();
        let content = sidecar.and_then(|sidecar| {
            let module = sidecar.named_module.clone().or_else(|| sources.module.clone());
            files.extend(module.clone());
            let group = sources.group();
            files
                .extend(sidecar.sidecar.fact_files().map(|name| File { group: Arc::clone(&group), name: name.into() }));
            Self::of_files(config, &group, sidecar, module.map(|module| module.path(root)))
        });
        let stamps: Stamps = files
            .into_iter()
            .map(|file| {
                let stamp = scan.files.get(&file).copied();
                (file, stamp)
            })
            .collect();
        let is_still = |(file, stamp): (&File, &Option<FileStamp>)| *stamp == stamp_now(&file.path(root));
        let is_consistent = stamps.iter().all(is_still);
        (stamps, is_consistent.then_some(content))
    }

    /// Reads the module, if the rule is in one, and the facts of a sidecar.
    pub(crate) fn of_files(
        config: &DirectoryConfig,
        group: &Arc<str>,
        sidecar: Arc<SidecarFile>,
        module: Option<PathBuf>,
    ) -> Result<Self, FileRefusal> {
        let source = sidecar.source(module)?;
        let mut texts = BTreeMap::new();
        for name in sidecar.sidecar.fact_files() {
            let path = File { group: Arc::clone(group), name: name.into() }.path(&config.path);
            texts
                .insert(name.to_owned(), read_text(&path, "file with facts", "lines with a key, a comma and a value")?);
        }
        let (module, label) = match source {
            Source::Module(path) => (read_module(&path, config)?, path.display().to_string()),
            Source::Cel => (cel_interpreter(), sidecar.label.clone().unwrap_or_default()),
        };
        Self::of_texts(config, group, sidecar, module, label, texts)
    }

    /// Parses the facts, and checks the module's digest.
    pub(crate) fn of_texts(
        config: &DirectoryConfig,
        group: &Arc<str>,
        sidecar: Arc<SidecarFile>,
        module: Module,
        module_label: String,
        fact_texts: BTreeMap<String, String>,
    ) -> Result<Self, FileRefusal> {
        let mut facts = BTreeMap::new();
        for (name, text) in &fact_texts {
            let file = File { group: Arc::clone(group), name: name.as_str().into() };
            let source = FactSource::from_csv(text)
                .map_err(|error| FileRefusal::new(format!("{}:{error}", file.path(&config.path).display())))?;
            // Two versions in force may have read one file at two moments: each has another name.
            let global = format!("file:{file}@{}", hex(&sha256(text.as_bytes())[..NAMED_DIGEST_BYTES]));
            facts.insert(name.clone(), (global, Arc::new(source)));
        }
        let module_digest = text_of(module.digest());
        let module_digest = match &sidecar.sidecar.cel {
            Some(rule) => digest(format!("{module_digest} {}", rule.block).as_bytes()),
            None => module_digest,
        };
        let digests = ContentDigests::of(module_digest, sidecar.text.as_deref(), &fact_texts);
        if let Some(wanted) = sidecar.sidecar.digest.as_deref().filter(|wanted| **wanted != *digests.module) {
            let (found, label) = (&digests.module, sidecar.label.as_deref().unwrap_or_default());
            return Err(FileRefusal::new(format!("{module_label}: its digest is {found}, and {label} says {wanted}")));
        }
        Ok(Self { sidecar, module, module_label, digests, fact_texts, facts })
    }

    /// The sidecar's file as messages name it, or the module's if there is none.
    pub(crate) fn sidecar_label(&self) -> &str {
        self.sidecar.label.as_deref().unwrap_or(&self.module_label)
    }
}

// === impl ContentDigests ===

impl ContentDigests {
    pub(crate) fn of(module: String, sidecar: Option<&str>, fact_texts: &BTreeMap<String, String>) -> Self {
        let facts = (!fact_texts.is_empty()).then(|| digest(format!("{fact_texts:?}").as_bytes()));
        Self { module, sidecar: sidecar.map(|text| digest(text.as_bytes())), facts }
    }
}

// === impl FileRefusal ===

impl FileRefusal {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self { text: excerpt(text.as_ref(), MAX_TEXT_BYTES), is_transient: false, is_rollback: false }
    }

    pub(crate) fn transient_if(self, is_transient: bool) -> Self {
        Self { is_transient, ..self }
    }

    fn of_file(path: &Path, what: &str, error: ReadFileError) -> Self {
        let path = path.display();
        match error {
            // A missing file gets a new stamp when it appears; other errors may be transient.
            ReadFileError::Unreadable(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Self::new(format!("{path} cannot be read: {cause}: expected a {what}")).transient_if(true)
            }
            ReadFileError::TooLarge { limit } => {
                Self::new(format!("{path} is larger than {limit} bytes, the most for a {what}"))
            }
            error => Self::new(format!("{path} {error}: expected a {what}")),
        }
    }
}

/// The refusal of a sidecar that has no module beside it, and names none.
fn no_module(sidecar: &Path) -> FileRefusal {
    FileRefusal::new(format!(
        "{}: there is no module for this sidecar: expected the file {}, or the key 'module' or 'cel'",
        sidecar.display(),
        sidecar.with_extension("wasm").file_name().unwrap_or_default().display(),
    ))
}

/// The refusal of a module without a sidecar that had one, or must have one: nobody has said that mode, match and settings
/// are the defaults.
pub(crate) fn lost_sidecar(config: &DirectoryConfig, sources: &Sources) -> FileRefusal {
    let sidecar = sources.module.as_ref().map(|module| module.path(&config.path).with_extension("yaml"));
    FileRefusal::new(format!(
        "{}: the sidecar is missing: expected one, '{{}}' for the defaults, or no module either",
        sidecar.unwrap_or_default().display(),
    ))
}

/// The ID of a policy by itself, whose name is the stem of its file.
pub(crate) fn id_of_file(file: &Path) -> PolicyId {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    PolicyId { group: Arc::from(""), name: Arc::from(stem.as_ref()) }
}

/// Reads a module.
pub(crate) fn read_module(path: &Path, config: &DirectoryConfig) -> Result<Module, FileRefusal> {
    let bytes =
        read_file(path, config.max_module_bytes).map_err(|error| FileRefusal::of_file(path, "module", error))?;
    Ok(Module::new(bytes, sha256))
}

fn read_text(path: &Path, what: &str, expected: &str) -> Result<String, FileRefusal> {
    let bytes = read_file(path, MAX_BYTES).map_err(|error| FileRefusal::of_file(path, what, error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        FileRefusal::new(format!("{}: byte {at} is not UTF-8: expected {expected}", path.display()))
    })
}

/// The stamp as a scan would find it, which takes no directory for a file.
fn stamp_now(path: &Path) -> Option<FileStamp> {
    path.symlink_metadata().ok().filter(|_| !path.is_dir()).map(|_| FileStamp::of(path))
}
