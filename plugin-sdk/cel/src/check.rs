//! The type checker: finds what would fail, before the first pod, and which reads an expression can reach.
//!
//! It also writes into the tree what the interpreter cannot know: that an absent label reads as `""`, the expressions of
//! variables, and the zero of a sum.

mod calls;
mod guards;
mod rewrite;

use std::{collections::BTreeSet, rc::Rc};

use cel::{
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue},
    parser::Expression,
};

use crate::{
    problem::{Problem, suggestion},
    schema::{ROOTS, Schema},
    source::{Source, Span},
    types::{BOOL, BYTES, DOUBLE, INT, NULL, STRING, Ty, UINT, Unifier},
};

/// Maximum nodes of an expression with the expressions of its variables.
const MAX_NODES: usize = 16_384;

/// What is known of a checked expression.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) tree: Expression,
    pub(crate) ty: Ty,
    pub(crate) reads: BTreeSet<&'static str>,
    /// Whether it names anything that differs from pod to pod, or a setting.
    pub(crate) is_constant: bool,
}

/// Checks the expressions of a rule, one after another.
#[derive(Debug)]
pub(crate) struct Checker {
    pub(crate) schema: Schema,
    pub(crate) sources: Vec<Source>,
    pub(crate) problems: Vec<Problem>,
    /// The reads of all rules: those of a variable that none names are not among them.
    pub(crate) described: BTreeSet<&'static str>,
    /// What is allowed, and most likely not what its author wants.
    pub(crate) remarks: Vec<Problem>,
    settings: Ty,
    facts: Vec<String>,
    variables: Vec<(String, Checked)>,
    // Of the expression under way:
    unifier: Unifier,
    scope: Vec<(String, Ty)>,
    guards: Vec<String>,
    reads: BTreeSet<&'static str>,
    is_constant: bool,
    nodes: usize,
}

// === impl Checker ===

impl Checker {
    pub(crate) fn new(settings: Ty, facts: Vec<String>) -> Self {
        Self {
            schema: Schema::new(),
            sources: Vec::new(),
            problems: Vec::new(),
            described: BTreeSet::new(),
            remarks: Vec::new(),
            settings,
            facts,
            variables: Vec::new(),
            unifier: Unifier::default(),
            scope: Vec::new(),
            guards: Vec::new(),
            reads: BTreeSet::new(),
            is_constant: true,
            nodes: 0,
        }
    }

    /// Parses and checks an expression; `None` if problems were found.
    pub(crate) fn check(&mut self, pointer: String, text: &str) -> Option<Checked> {
        let number = u16::try_from(self.sources.len()).unwrap_or(u16::MAX - 1);
        let (source, mut tree) = match Source::parse(pointer, text, number) {
            Ok(parsed) => parsed,
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        self.sources.push(source);
        self.unifier = Unifier::default();
        self.reads = BTreeSet::new();
        self.is_constant = true;
        self.nodes = 0;
        let found = self.problems.len();
        let ty = self.infer(&mut tree);
        if self.nodes > MAX_NODES {
            self.problem(&tree, format!("it has more than {MAX_NODES} parts with those of its variables"));
        }
        let ty = self.unifier.resolve(&ty.filter(|_| self.problems.len() == found)?);
        Some(Checked { tree, ty, reads: std::mem::take(&mut self.reads), is_constant: self.is_constant })
    }

    /// Makes a checked expression known by a name.
    pub(crate) fn add_variable(&mut self, name: &str, checked: Option<Checked>) {
        // After an error its uses are not errors of their own.
        let checked = checked.unwrap_or_else(|| Checked {
            tree: Expression::default(),
            ty: Ty::Dyn,
            reads: BTreeSet::new(),
            is_constant: false,
        });
        self.variables.push((name.to_owned(), checked));
    }

    /// Whether a name is taken by a variable.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        name == "settings"
            || name == "variables"
            || ROOTS.iter().any(|(root, _)| *root == name)
            || self.variables.iter().any(|(variable, _)| variable == name)
    }

    pub(crate) fn problem(&mut self, at: &Expression, text: impl Into<String>) {
        let problem = self.placed(at, text.into());
        self.problems.push(problem);
    }

    fn remark(&mut self, at: &Expression, text: String) {
        let remark = self.placed(at, text);
        self.remarks.push(remark);
    }

    fn placed(&self, at: &Expression, text: String) -> Problem {
        let span = Span::of(at.id);
        let at = span.and_then(|span| self.sources.get(span.source()).map(|source| (source, span)));
        if let Some((source, span)) = at {
            let (line, column) = source.position(span);
            Problem { pointer: source.pointer.clone(), line, column, text }
        } else {
            Problem::at_start(self.sources.last().map_or("", |source| &source.pointer), text)
        }
    }

    /// The text of a part; empty for one that a macro made.
    fn text(&self, part: &Expression) -> String {
        let span = Span::of(part.id);
        let text = span.and_then(|span| self.sources.get(span.source()).map(|source| source.text_of(span)));
        text.unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect()
    }

    fn fail<T>(&mut self, at: &Expression, text: impl Into<String>) -> Option<T> {
        self.problem(at, text);
        None
    }

    /// The type of a part; `None` after a problem.
    fn infer(&mut self, part: &mut Expression) -> Option<Ty> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return None;
        }
        let ty = match &mut part.expr {
            Expr::Literal(literal) => Some(type_of_literal(literal)),
            Expr::Ident(_) => self.infer_ident(part),
            Expr::Select(_) => self.infer_select(part),
            Expr::Call(_) => self.infer_call(part),
            Expr::List(list) => {
                let element = Ty::Var(self.unifier.fresh(1));
                for (index, item) in list.elements.iter_mut().enumerate() {
                    let mut ty = self.infer(item)?;
                    if list.optional_indices.contains(&index) {
                        ty = self.value_of_optional(item, ty)?;
                    }
                    self.same(item, &ty, &element, "the elements of a list have one type")?;
                }
                Some(element.list())
            }
            Expr::Map(map) => {
                let first = self.unifier.fresh(2);
                let (key, value) = (Ty::Var(first), Ty::Var(first + 1));
                for entry in &mut map.entries {
                    let EntryExpr::MapEntry(entry) = &mut entry.expr else { continue };
                    let ty = self.infer(&mut entry.key)?;
                    if !self.unifier.resolve(&ty).is_simple("string int uint bool") {
                        return self.fail(&entry.key, format!("a key is a text, a number or a bool, found {ty}"));
                    }
                    self.same(&entry.key, &ty, &key, "the keys of a map have one type")?;
                    let mut ty = self.infer(&mut entry.value)?;
                    if entry.optional {
                        ty = self.value_of_optional(&entry.value, ty)?;
                    }
                    self.same(&entry.value, &ty, &value, "the values of a map have one type")?;
                }
                Some(Ty::Map(Rc::new(key), Rc::new(value)))
            }
            Expr::Comprehension(_) => self.infer_comprehension(part),
            Expr::Struct(_) => self.fail(part, "objects cannot be made here; expected a value"),
            Expr::Unspecified => self.fail(part, "expected a value"),
        }?;
        Some(self.unifier.resolve(&ty))
    }

    fn same(&mut self, at: &Expression, found: &Ty, expected: &Ty, why: &str) -> Option<()> {
        let expected_now = self.unifier.resolve(expected);
        if self.unifier.fit([(found, expected)]) {
            return Some(());
        }
        let mend = mend_of(found, &expected_now);
        self.fail(at, format!("{why}: found {found}, expected {expected_now}{mend}"))
    }

    fn value_of_optional(&mut self, at: &Expression, ty: Ty) -> Option<Ty> {
        match ty {
            Ty::Optional(value) => Some(value.as_ref().clone()),
            Ty::Dyn => Some(Ty::Dyn),
            other => self.fail(at, format!("after `?` an optional is expected, found {other}")),
        }
    }

    fn infer_ident(&mut self, part: &mut Expression) -> Option<Ty> {
        let Expr::Ident(name) = &part.expr else { return None };
        if let Some((_, ty)) = self.scope.iter().rev().find(|(own, _)| own == name) {
            return Some(ty.clone());
        }
        if name == "settings" {
            self.is_constant = false;
            return Some(self.settings.clone());
        }
        if let Some((name, ty)) = ROOTS.iter().find(|(root, _)| root == name) {
            self.is_constant = false;
            self.reads.extend(match *name {
                "now" => Some("host.now"),
                // Whatever walks over the list asks how long it is.
                "placed" => Some("placed.count"),
                _ => None,
            });
            return Some(Ty::read(ty, 0).0);
        }
        if let Some((_, variable)) = self.variables.iter().find(|(own, _)| own == name) {
            let variable = variable.clone();
            return Some(self.insert(part, variable));
        }
        let name = name.clone();
        let mend = match name.as_str() {
            "object" | "self" => ": the pod is `pod`".to_owned(),
            "params" => ": values of the file are `settings`".to_owned(),
            _ => {
                let own = self.scope.iter().map(|(name, _)| name.as_str());
                let variables = self.variables.iter().map(|(name, _)| name.as_str());
                suggestion(
                    &name,
                    ROOTS.map(|(root, _)| root).into_iter().chain(["settings"]).chain(own).chain(variables),
                )
            }
        };
        self.fail(part, format!("`{name}` is not known{mend}"))
    }

    /// Writes the expression of a variable in its place.
    fn insert(&mut self, part: &mut Expression, variable: Checked) -> Ty {
        self.nodes += rewrite::nodes(&variable.tree);
        if self.nodes <= MAX_NODES {
            *part = variable.tree;
        }
        self.reads.extend(variable.reads);
        self.is_constant &= variable.is_constant;
        variable.ty
    }

    fn infer_select(&mut self, part: &mut Expression) -> Option<Ty> {
        let text = self.text(part);
        let Expr::Select(select) = &mut part.expr else { return None };
        if matches!(&select.operand.expr, Expr::Ident(name) if name == "variables") {
            part.expr = Expr::Ident(select.field.clone());
            return self.infer_ident(part);
        }
        let operand = self.infer(&mut select.operand)?;
        let (is_test, field) = (select.test, select.field.clone());
        if self.schema.text_map(&operand).is_some() && !is_test {
            select.field = rewrite::lenient(&field);
        }
        let is_guarded = self.guards.contains(&text);
        let (ty, may_be_absent) = self.field(part, &operand, &field, is_test || is_guarded)?;
        if is_test {
            return Some(BOOL);
        }
        if may_be_absent && !is_guarded {
            let (operand, zero) = (text.trim_end_matches(&format!(".{field}")), zero_of(&ty));
            return self.fail(
                part,
                format!(
                    "`{field}` may be absent: ask `has({text}) && …` first, or write `{operand}.?{field}.orValue({zero})`"
                ),
            );
        }
        Some(ty)
    }

    /// The type of a field, and whether it may be absent although its type is known. `is_asked_for` says that the
    /// expression takes an absent one into account.
    fn field(&mut self, at: &Expression, operand: &Ty, name: &str, is_asked_for: bool) -> Option<(Ty, bool)> {
        let names: Vec<String> = match operand {
            Ty::Named(object) => {
                if let Some((read, _)) = self.schema.text_map(operand) {
                    self.reads.insert(read);
                    return Some((STRING, false));
                }
                if let Some(field) = self.schema.field(object, name) {
                    self.reads.extend(field.read);
                    return Some((field.ty.clone(), field.may_be_absent));
                }
                self.schema.fields_of(object).map(str::to_owned).collect()
            }
            Ty::Record(fields) => {
                if let Some(ty) = fields.get(name) {
                    return Some((ty.clone(), false));
                }
                // Cases replace the settings, and a copy of the file may have others.
                if is_asked_for {
                    let close = suggestion(name, fields.keys().map(String::as_str));
                    if !close.is_empty() {
                        self.remark(at, format!("the settings have no `{name}`, which is allowed{close}"));
                    }
                    return Some((Ty::Var(self.unifier.fresh(1)), false));
                }
                fields.keys().cloned().collect()
            }
            Ty::Map(key, value) if self.unifier.fit([(&STRING, key.as_ref())]) => {
                return Some((value.as_ref().clone(), true));
            }
            Ty::Dyn | Ty::Var(_) => return Some((Ty::Dyn, true)),
            Ty::Optional(value) => {
                return Some((self.field(at, value, name, true)?.0.into_optional(), false));
            }
            _ => Vec::new(),
        };
        let expected = if names.is_empty() { String::new() } else { format!("; expected one of {}", names.join(", ")) };
        let mend = match (operand, name) {
            (Ty::Named("Pod" | "Node"), "metadata") => {
                "; `labels`, `annotations` and `name` are fields of it directly".to_owned()
            }
            (Ty::Named("Pod" | "Node"), "spec" | "status") => format!("; any other field is `field(\"/{name}/…\")`"),
            _ if self.schema.methods_of(operand).contains(&name) => format!("; it is a function: `{name}(…)`"),
            _ => suggestion(name, names.iter().map(String::as_str)),
        };
        let may_lack = match operand {
            Ty::Record(_) => format!("; where the settings may lack it, write `[?\"{name}\"].orValue(…)`"),
            _ => String::new(),
        };
        self.fail(at, format!("{operand} has no field `{name}`{expected}{mend}{may_lack}"))
    }

    fn infer_comprehension(&mut self, part: &mut Expression) -> Option<Ty> {
        let Expr::Comprehension(comprehension) = &mut part.expr else { return None };
        let ComprehensionExpr { iter_range, iter_var, accu_var, accu_init, loop_cond, loop_step, result, .. } =
            comprehension.as_mut();
        if self.is_taken(iter_var) || self.scope.iter().any(|(own, _)| own == iter_var) {
            let text = format!("`{iter_var}` is a variable already; give this one another name");
            return self.fail(iter_range, text);
        }
        let range = self.infer(iter_range)?;
        let element = self.element_of(iter_range, &range)?;
        let accumulated = self.infer(accu_init)?;
        let (scope, guards) = (self.scope.len(), self.guards.len());
        self.scope.push((iter_var.clone(), element));
        self.scope.push((accu_var.clone(), accumulated.clone()));
        self.guards.push(format!("{}[{iter_var}]", self.text(iter_range)));
        let inner = self.infer(loop_cond).and_then(|_| {
            let step = self.infer(loop_step)?;
            self.same(loop_step, &step, &accumulated, "the steps of a loop have one type")
        });
        self.guards.truncate(guards);
        let ty = inner.and_then(|()| self.infer(result));
        self.scope.truncate(scope);
        rewrite::range_of(iter_range, matches!(range, Ty::List(_) | Ty::Dyn | Ty::Var(_)));
        ty
    }

    /// What a loop over a value runs over.
    fn element_of(&mut self, at: &Expression, range: &Ty) -> Option<Ty> {
        match range {
            Ty::List(element) => Some(element.as_ref().clone()),
            Ty::Map(key, _) => Some(key.as_ref().clone()),
            Ty::Record(_) => Some(STRING),
            Ty::Dyn | Ty::Var(_) => Some(Ty::Dyn),
            other => match self.schema.text_map(other) {
                Some((_, Some(read))) => {
                    self.reads.insert(read);
                    if read == "nodes.field" {
                        let text = "a loop over all of a node's labels or annotations, which differ from node to node: no two nodes share an answer, so read those that you need by key";
                        self.remark(at, text.to_owned());
                    }
                    Some(STRING)
                }
                Some((_, None)) => self.fail(at, "these can be read by key, but not run through"),
                None => self.fail(at, format!("expected a list or a map, found {other}")),
            },
        }
    }
}

fn type_of_literal(literal: &LiteralValue) -> Ty {
    match literal {
        LiteralValue::Boolean(_) => BOOL,
        LiteralValue::Bytes(_) => BYTES,
        LiteralValue::Double(_) => DOUBLE,
        LiteralValue::Int(_) => INT,
        LiteralValue::Null => NULL,
        LiteralValue::String(_) => STRING,
        LiteralValue::UInt(_) => UINT,
    }
}

/// A value to write where there is none.
fn zero_of(ty: &Ty) -> &'static str {
    match ty {
        Ty::Named("string") => "\"\"",
        Ty::Named("int") => "0",
        Ty::Named("double") => "0.0",
        Ty::Named("bool") => "false",
        Ty::Named("quantity") => "quantity(\"0\")",
        Ty::List(_) => "[]",
        _ => "…",
    }
}

/// How to make one type of another.
fn mend_of(found: &Ty, expected: &Ty) -> String {
    match (found, expected) {
        (Ty::Optional(value), other) if value.as_ref() == other || *other == Ty::Dyn => {
            format!("; write `.orValue({})`", zero_of(other))
        }
        (Ty::Optional(value), _) => format!("; write `.orValue({})` first", zero_of(value)),
        (Ty::Named("string"), Ty::Named(to @ ("int" | "double" | "quantity" | "semver" | "ip" | "bool")))
        | (Ty::Named("int" | "uint"), Ty::Named(to @ "double"))
        | (Ty::Named("double" | "uint"), Ty::Named(to @ "int"))
        | (Ty::Named("int" | "double" | "bool" | "uint"), Ty::Named(to @ "string")) => format!("; write `{to}(…)`"),
        (Ty::Named("quantity"), Ty::Named("int")) => "; write `.asInteger()`".to_owned(),
        (Ty::Named("int"), Ty::Named("quantity")) => "; write `quantity(\"…\")`".to_owned(),
        _ => String::new(),
    }
}

/// The call of an expression.
fn call_of(part: &mut Expression) -> Option<&mut CallExpr> {
    match &mut part.expr {
        Expr::Call(call) => Some(call),
        _ => None,
    }
}
