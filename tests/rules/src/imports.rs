//! Which modules of a crate import which, and the cycles among them.
//!
//! Sources are parsed, not searched for text. A path counts for the module that defines its item: a re-export is
//! followed, and by itself is no import. Test modules are left out, and so are the arguments of macros that do not take
//! expressions.
//!
//! A folder counts as one module for its siblings, so that no cycle hides behind the re-exports of a folder's parent.

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

/// The items and imports of one module.
#[derive(Default)]
struct Scope {
    items: BTreeSet<String>,
    /// Each imported name with the module-relative path that it stands for, and whether it is a re-export.
    imports: BTreeMap<String, (Module, bool)>,
    globs: Vec<Module>,
    paths: BTreeSet<Module>,
}

/// The modules of a crate and their imports.
#[derive(Default)]
pub struct Imports {
    scopes: BTreeMap<Module, Scope>,
}

/// The folders in which a module's `mod` items are looked up.
struct Folders<'a> {
    /// Of its own file, for `#[path]`.
    file: &'a Path,
    /// Of its children.
    children: &'a Path,
}

impl Imports {
    /// Reads a crate from its root file, such as `lib.rs` or `main.rs`.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or parsed, with its path.
    pub fn of(root: &Path) -> io::Result<Self> {
        let mut imports = Self::default();
        imports.read(root, folder_of(root), &Module::new())?;
        Ok(imports)
    }

    /// The shortest cycle through each module that is in one, without repetitions: `a -> b -> a`.
    #[must_use]
    pub fn cycles(&self) -> Vec<String> {
        let edges: BTreeMap<Module, BTreeSet<Module>> =
            self.scopes.keys().map(|module| (module.clone(), self.imported_by(module))).collect();
        let mut found = BTreeSet::new();
        let mut cycles = Vec::new();
        for graph in [edges.clone(), between_folders(&edges)] {
            for start in graph.keys() {
                if let Some(cycle) = shortest_cycle(start, &graph)
                    && found.insert(cycle.iter().cloned().collect::<BTreeSet<_>>())
                {
                    cycles.push(cycle.iter().map(display).collect::<Vec<_>>().join(" -> "));
                }
            }
        }
        cycles
    }

    fn read(&mut self, file: &Path, children: &Path, module: &Module) -> io::Result<()> {
        let failed = |why: String| io::Error::other(format!("{}: {why}", file.display()));
        let source = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let parsed = syn::parse_file(&source).map_err(|error| failed(error.to_string()))?;
        self.take(parsed.items, &Folders { file: folder_of(file), children }, module)
    }

    fn take(&mut self, items: Vec<Item>, folders: &Folders<'_>, module: &Module) -> io::Result<()> {
        let mut scope = Scope::default();
        let mut inner = Vec::new();
        for item in items {
            match item {
                Item::Mod(item) if is_test(&item.attrs) => {}
                Item::Mod(item) => inner.push(item),
                Item::Use(item) if is_test(&item.attrs) => {}
                Item::Use(item) => {
                    let is_private = matches!(item.vis, Visibility::Inherited);
                    scope.import(&item.tree, &mut Vec::new(), !is_private);
                }
                item => {
                    scope.items.extend(name(&item));
                    Paths(&mut scope.paths).visit_item(&item);
                }
            }
        }
        self.scopes.insert(module.clone(), scope);
        inner.into_iter().try_for_each(|item| self.take_module(item, folders, module))
    }

    fn take_module(&mut self, item: ItemMod, folders: &Folders<'_>, parent: &Module) -> io::Result<()> {
        let name = item.ident.to_string();
        let module: Module = parent.iter().cloned().chain([name.clone()]).collect();
        let folder = folders.children.join(&name);
        let elsewhere = item.attrs.iter().find_map(path_attribute);
        if let Some((_, items)) = item.content {
            return self.take(items, &Folders { children: &folder, ..*folders }, &module);
        }
        if let Some(path) = elsewhere {
            let file = folders.file.join(path);
            return self.read(&file, folder_of(&file), &module);
        }
        let beside: PathBuf = folders.children.join(format!("{name}.rs"));
        let file = if beside.exists() { beside } else { folder.join("mod.rs") };
        self.read(&file, &folder, &module)
    }

    /// The modules that define what `module` uses.
    fn imported_by(&self, module: &Module) -> BTreeSet<Module> {
        let scope = &self.scopes[module];
        let imported = scope.imports.values().filter(|(_, is_re_export)| !is_re_export).map(|(path, _)| path);
        let used = imported.chain(&scope.paths).filter_map(|path| self.defining(module, path, 0));
        used.filter(|target| target != module).collect()
    }

    /// The module with the item that `path` means in `module`; none if it belongs to another crate.
    fn defining(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (mut current, mut rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (module.clone(), &path[1..]),
            "super" => {
                let supers = path.iter().take_while(|segment| *segment == "super").count();
                (module[..module.len().checked_sub(supers)?].to_vec(), &path[supers..])
            }
            _ => (module.clone(), path),
        };
        while let Some((segment, after)) = rest.split_first() {
            let child: Module = current.iter().chain([segment]).cloned().collect();
            let scope = &self.scopes[&current];
            if self.scopes.contains_key(&child) {
                (current, rest) = (child, after);
            } else if scope.items.contains(segment) {
                return Some(current);
            } else if depth > 16 {
                return None;
            } else if let Some((target, _)) = scope.imports.get(segment) {
                let target: Module = target.iter().chain(after).cloned().collect();
                return self.defining(&current, &target, depth + 1);
            } else {
                return scope.globs.iter().find_map(|glob| {
                    let target: Module = glob.iter().chain(rest).cloned().collect();
                    self.defining(&current, &target, depth + 1)
                });
            }
        }
        Some(current)
    }
}

impl Scope {
    fn import(&mut self, tree: &UseTree, before: &mut Module, is_re_export: bool) {
        let joined = |before: &Module, name: &dyn ToString| before.iter().cloned().chain([name.to_string()]).collect();
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(&path.tree, before, is_re_export);
                before.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                if let Some(last) = before.last() {
                    self.imports.insert(last.clone(), (before.clone(), is_re_export));
                }
            }
            UseTree::Name(name) => {
                self.imports.insert(name.ident.to_string(), (joined(before, &name.ident), is_re_export));
            }
            UseTree::Rename(name) => {
                self.imports.insert(name.rename.to_string(), (joined(before, &name.ident), is_re_export));
            }
            UseTree::Glob(_) => self.globs.push(before.clone()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before, is_re_export)),
        }
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

fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// The file that `#[path]` names.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(file), .. }) if pair.path.is_ident("path") => Some(file.value()),
        _ => None,
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string() == "test")
    })
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The imports between siblings, each with all that is below it: an import counts for the two folders at which the paths
/// of its modules part. An import of an ancestor or a descendant stays within one folder.
fn between_folders(edges: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut folders = BTreeMap::<Module, BTreeSet<Module>>::new();
    for (from, imported) in edges {
        for to in imported {
            let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
            if common < from.len() && common < to.len() {
                folders.entry(from[..=common].to_vec()).or_default().insert(to[..=common].to_vec());
                folders.entry(to[..=common].to_vec()).or_default();
            }
        }
    }
    folders
}

/// Breadth first from `start` back to it.
fn shortest_cycle(start: &Module, edges: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    let mut before: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for next in &edges[module] {
            if next == start {
                let back = std::iter::successors(Some(module), |module| before.get(module).copied());
                let mut cycle: Vec<Module> = [start].into_iter().chain(back).cloned().collect();
                cycle.reverse();
                return Some(cycle);
            }
            if !before.contains_key(next) {
                before.insert(next, module);
                queue.push_back(next);
            }
        }
    }
    None
}

fn display(module: &Module) -> String {
    ["crate"].into_iter().chain(module.iter().map(String::as_str)).collect::<Vec<_>>().join("::")
}
