//! Which modules of a crate import which, and the cycles among them.
//!
//! A path counts for the module that defines its item: a re-export is followed, and by itself is no import. Test modules are
//! left out. A folder counts as one module for its siblings, so that no cycle hides behind the re-exports of its parent.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs, io,
    path::{Path, PathBuf},
};

use syn::{
    Attribute, Expr, Item, ItemMod, Token, UseTree, Visibility,
    punctuated::Punctuated,
    visit::{self, Visit},
};

/// A module's path below the crate's root, which is empty.
type Module = Vec<String>;

type Edges = BTreeMap<Module, BTreeSet<Module>>;

/// The items and imports of one module.
#[derive(Default)]
struct Scope {
    items: BTreeSet<String>,
    /// Each imported name with the module-relative path that it stands for.
    names: BTreeMap<String, Module>,
    globs: Vec<Module>,
    /// What it uses, its private imports among them.
    used: BTreeSet<Module>,
}

/// The modules of a crate and their imports.
#[derive(Default)]
pub struct Imports(BTreeMap<Module, Scope>);

impl Imports {
    /// Reads a crate from its root file, such as `lib.rs` or `main.rs`.
    pub fn of(root: &Path) -> io::Result<Self> {
        let mut imports = Self::default();
        imports.read(root, folder_of(root), &vec![])?;
        Ok(imports)
    }

    /// The shortest cycle through each module that is in one, without repetitions: `a -> b -> a`.
    pub fn cycles(&self) -> Vec<String> {
        let edges: Edges = self.0.keys().map(|module| (module.clone(), self.imported_by(module))).collect();
        let folders = between_folders(&edges);
        let (mut found, mut cycles) = (BTreeSet::new(), vec![]);
        for graph in [&edges, &folders] {
            for cycle in graph.keys().filter_map(|start| shortest_cycle(start, graph)) {
                if found.insert(cycle.iter().copied().collect::<BTreeSet<_>>()) {
                    cycles.push(cycle.into_iter().map(display).collect::<Vec<_>>().join(" -> "));
                }
            }
        }
        cycles
    }

    /// Reads a file, whose modules are files in `children`.
    fn read(&mut self, file: &Path, children: &Path, module: &Module) -> io::Result<()> {
        let failed = |why: String| io::Error::other(format!("{}: {why}", file.display()));
        let source = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let parsed = syn::parse_file(&source).map_err(|error| failed(error.to_string()))?;
        self.take(parsed.items, folder_of(file), children, module)
    }

    fn take(&mut self, items: Vec<Item>, folder: &Path, children: &Path, module: &Module) -> io::Result<()> {
        let (mut scope, mut inner) = (Scope::default(), vec![]);
        for item in items {
            match item {
                Item::Mod(ItemMod { attrs, .. }) | Item::Use(syn::ItemUse { attrs, .. }) if is_test(&attrs) => {}
                Item::Mod(item) => inner.push(item),
                Item::Use(item) => scope.import(&item.tree, &[], matches!(item.vis, Visibility::Inherited)),
                item => {
                    let mut name = Name(None);
                    name.visit_item(&item);
                    scope.items.extend(name.0.filter(|_| !matches!(item, Item::Impl(_))));
                    Paths(&mut scope.used).visit_item(&item);
                }
            }
        }
        self.0.insert(module.clone(), scope);
        inner.into_iter().try_for_each(|item| self.take_module(item, folder, children, module))
    }

    fn take_module(&mut self, item: ItemMod, folder: &Path, children: &Path, parent: &Module) -> io::Result<()> {
        let name = item.ident.to_string();
        let module: Module = parent.iter().chain([&name]).cloned().collect();
        let own = children.join(&name);
        if let Some((_, items)) = item.content {
            return self.take(items, folder, &own, &module);
        }
        if let Some(path) = item.attrs.iter().find_map(path_attribute) {
            let file = folder.join(path);
            return self.read(&file, folder_of(&file), &module);
        }
        let beside: PathBuf = children.join(format!("{name}.rs"));
        self.read(if beside.exists() { beside } else { own.join("mod.rs") }.as_path(), &own, &module)
    }

    /// The modules that define what `module` uses.
    fn imported_by(&self, module: &Module) -> BTreeSet<Module> {
        let used = self.0[module].used.iter().filter_map(|path| self.defining(module, path, 0));
        used.filter(|target| target != module).collect()
    }

    /// The module with the item that `path` means in `module`; none if it belongs to another crate.
    fn defining(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        let supers = path.iter().take_while(|segment| *segment == "super").count();
        let (mut current, mut rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (module.clone(), &path[1..]),
            _ => (module[..module.len().checked_sub(supers)?].to_vec(), &path[supers..]),
        };
        while let Some((segment, after)) = rest.split_first() {
            let child: Module = current.iter().chain([segment]).cloned().collect();
            let scope = &self.0[&current];
            let through = |target: &Module, after: &[String]| {
                let target = [&target[..], after].concat();
                (depth <= 16).then(|| self.defining(&current, &target, depth + 1)).flatten()
            };
            if self.0.contains_key(&child) {
                (current, rest) = (child, after);
            } else if scope.items.contains(segment) {
                return Some(current);
            } else if let Some(target) = scope.names.get(segment) {
                return through(target, after);
            } else {
                return scope.globs.iter().find_map(|glob| through(glob, rest));
            }
        }
        Some(current)
    }
}

impl Scope {
    fn import(&mut self, tree: &UseTree, before: &[String], is_private: bool) {
        let joined = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => return self.import(&path.tree, &joined(&path.ident), is_private),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, before, is_private));
            }
            UseTree::Glob(_) => return self.globs.push(before.to_vec()),
            UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before.to_vec())
            }
            UseTree::Name(name) => (name.ident.to_string(), joined(&name.ident)),
            UseTree::Rename(name) => (name.rename.to_string(), joined(&name.ident)),
        };
        self.used.extend(is_private.then(|| path.clone()));
        self.names.insert(name, path);
    }
}

/// Collects the paths of an item.
struct Paths<'a>(&'a mut BTreeSet<Module>);

impl Visit<'_> for Paths<'_> {
    fn visit_path(&mut self, path: &syn::Path) {
        let segments: Module = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // A name alone may be a variable.
        if segments.len() > 1 || segments[0].starts_with(char::is_uppercase) {
            self.0.insert(segments);
        }
        visit::visit_path(self, path);
    }

    /// The arguments of macros that take expressions, as `vec!` and `format!` do.
    fn visit_macro(&mut self, called: &syn::Macro) {
        let arguments = called.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        arguments.iter().flatten().for_each(|argument| self.visit_expr(argument));
        visit::visit_macro(self, called);
    }

    /// `pub(crate)` names a module and imports nothing of it.
    fn visit_visibility(&mut self, _: &Visibility) {}
}

/// The name of an item: its first identifier.
struct Name(Option<String>);

impl Visit<'_> for Name {
    fn visit_ident(&mut self, name: &syn::Ident) {
        self.0.get_or_insert_with(|| name.to_string());
    }

    fn visit_attribute(&mut self, _: &Attribute) {}

    fn visit_visibility(&mut self, _: &Visibility) {}
}

fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// The file that `#[path]` names.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta.require_name_value().ok()?.value {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(file), .. }) if attribute.path().is_ident("path") => {
            Some(file.value())
        }
        _ => None,
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |list: &syn::MetaList| list.path.is_ident("cfg") && list.tokens.to_string() == "test";
    attributes.iter().any(|attribute| attribute.meta.require_list().is_ok_and(is_test))
}

/// The imports between siblings, each with all that is below it: an import counts for the two folders at which the paths
/// of its modules part. An import of an ancestor or a descendant stays within one folder.
fn between_folders(edges: &Edges) -> Edges {
    let mut folders = Edges::new();
    for (from, to) in edges.iter().flat_map(|(from, imported)| imported.iter().map(move |to| (from, to))) {
        let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
        if common < from.len() && common < to.len() {
            folders.entry(from[..=common].to_vec()).or_default().insert(to[..=common].to_vec());
            folders.entry(to[..=common].to_vec()).or_default();
        }
    }
    folders
}

/// Breadth first from `start` back to it.
fn shortest_cycle<'e>(start: &'e Module, edges: &'e Edges) -> Option<Vec<&'e Module>> {
    let (mut seen, mut queue) = (BTreeSet::new(), VecDeque::from([vec![start]]));
    while let Some(path) = queue.pop_front() {
        for next in &edges[path[path.len() - 1]] {
            if next == start {
                return Some([&path[..], &[start]].concat());
            }
            if seen.insert(next) {
                queue.push_back([&path[..], &[next]].concat());
            }
        }
    }
    None
}

fn display(module: &Module) -> String {
    ["crate"].into_iter().chain(module.iter().map(String::as_str)).collect::<Vec<_>>().join("::")
}
