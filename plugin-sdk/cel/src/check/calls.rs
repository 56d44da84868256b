//! The types of operators and functions.

use cel::{
    common::ast::{Expr, LiteralValue, operators},
    parser::Expression,
};

use super::{Checker, call_of, mend_of, rewrite};
use crate::{
    functions,
    problem::suggestion,
    schema::{self, Overload, VARIABLES},
    types::{BOOL, DURATION, STRING, TIMESTAMP, Ty},
};

/// The types that `<` takes; equal ones, or two numbers.
const ORDERED: &str = "int uint double string bytes bool timestamp duration";

/// The types of `C` and `S` in signatures.
const SUMMABLE: &str = "int uint double duration";

// === impl Checker ===

impl Checker {
    pub(super) fn infer_call(&mut self, part: &mut Expression) -> Option<Ty> {
        let call = call_of(part)?;
        if call.target.is_some() || call.func_name.starts_with(char::is_alphabetic) {
            return self.infer_function(part);
        }
        match (call.func_name.as_str(), call.args.len()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, 2) => {
                let is_and = call.func_name == operators::LOGICAL_AND;
                let [one, other] = call.args.as_mut_slice() else { return None };
                // Both sides, so that problems of both are told.
                let left = self.infer_bool(one);
                let right = self.guarded(one, is_and, |checker| checker.infer_bool(other));
                left.and(right)
            }
            (operators::CONDITIONAL, 3) => {
                let [condition, then, otherwise] = call.args.as_mut_slice() else { return None };
                let condition_is = self.infer_bool(condition);
                let then_is = self.guarded(condition, true, |checker| checker.infer(then));
                let otherwise_is = self.guarded(condition, false, |checker| checker.infer(otherwise));
                let (_, then_is, otherwise_is) = (condition_is?, then_is?, otherwise_is?);
                self.same(otherwise, &otherwise_is, &then_is, "both outcomes of `?` have one type")?;
                Some(then_is)
            }
            (operators::LOGICAL_NOT | operators::NOT_STRICTLY_FALSE, 1) => self.infer_bool(&mut call.args[0]),
            (operators::NEGATE, 1) => {
                let ty = self.infer(&mut call.args[0])?;
                match ty {
                    Ty::Named("int" | "double") | Ty::Dyn => Some(ty),
                    other => self.fail(part, format!("`-` takes an int or a double, found {other}")),
                }
            }
            (operators::INDEX | operators::OPT_INDEX, 2) => self.infer_index(part),
            (operators::OPT_SELECT, 2) => {
                let [operand, field] = call.args.as_mut_slice() else { return None };
                let ty = self.infer(operand)?;
                let Expr::Literal(LiteralValue::String(name)) = &field.expr else { return None };
                let name = name.to_string();
                // A field of an optional is an optional.
                Some(self.field(part, &ty.into_optional(), &name, true)?.0)
            }
            (operators::IN, 2) => self.infer_in(part),
            (_, 2) => self.infer_binary(part),
            _ => self.fail(part, "this operator is not known"),
        }
    }

    fn infer_bool(&mut self, part: &mut Expression) -> Option<Ty> {
        match self.infer(part)? {
            Ty::Named("bool") | Ty::Dyn => Some(BOOL),
            Ty::Var(index) if self.unifier.fit([(&BOOL, &Ty::Var(index))]) => Some(BOOL),
            other => {
                let mend = match other {
                    Ty::Named("string") => "; compare it: `… == \"true\"`",
                    Ty::Optional(_) => "; write `.hasValue()`, or `.orValue(…)`",
                    Ty::Named("int" | "double") => "; compare it: `… > 0`",
                    _ => "",
                };
                self.fail(part, format!("expected a bool, found {other}{mend}"))
            }
        }
    }

    fn infer_index(&mut self, part: &mut Expression) -> Option<Ty> {
        let call = call_of(part)?;
        let is_optional = call.func_name == operators::OPT_INDEX;
        let [operand, key] = call.args.as_mut_slice() else { return None };
        let (map, written_key) = (self.text(operand), self.text(key));
        let is_guarded = self.guards.contains(&format!("{map}[{written_key}]"));
        let (operand_is, key_is) = (self.infer(operand)?, self.infer(key)?);
        let is_optional = is_optional || matches!(operand_is, Ty::Optional(_));
        let inner = match operand_is {
            Ty::Optional(value) => value.as_ref().clone(),
            other => other,
        };
        if let Some((read, _)) = self.schema.text_map(&inner) {
            self.reads.insert(read);
            self.same(key, &key_is, &STRING, "a key here is a text")?;
            if !is_optional {
                rewrite::make_lenient(key);
                return Some(STRING);
            }
            return Some(STRING.optional());
        }
        let (element, key_may_be_absent) = match &inner {
            Ty::List(element) => {
                if !key_is.is_number() && key_is != Ty::Dyn {
                    return self.fail(key, format!("an index of a list is an int, found {key_is}"));
                }
                (element.as_ref().clone(), false)
            }
            Ty::Map(expected, value) => {
                if !(key_is.is_number() && self.unifier.resolve(expected).is_number()) {
                    self.same(key, &key_is, expected, "the key has another type than those of the map")?;
                }
                (value.as_ref().clone(), true)
            }
            Ty::Record(fields) => {
                self.same(key, &key_is, &STRING, "a key here is a text")?;
                if let Expr::Literal(LiteralValue::String(name)) = &key.expr {
                    let name = name.to_string();
                    (self.field(part, &inner, &name, is_optional || is_guarded)?.0, false)
                } else {
                    let mut types = fields.values();
                    let first = types.next().cloned().unwrap_or(Ty::Dyn);
                    (if types.all(|ty| *ty == first) { first } else { Ty::Dyn }, true)
                }
            }
            Ty::Dyn | Ty::Var(_) => (Ty::Dyn, true),
            other => return self.fail(part, format!("{other} has no elements to choose by `[…]`")),
        };
        if is_optional {
            return Some(element.optional());
        }
        if key_may_be_absent && !is_guarded {
            let zero = super::zero_of(&self.unifier.resolve(&element));
            return self.fail(
                part,
                format!(
                    "`{written_key}` may be absent: ask `{written_key} in {map} && …` first, or write `{map}[?{written_key}].orValue({zero})`"
                ),
            );
        }
        Some(element)
    }

    fn infer_in(&mut self, part: &mut Expression) -> Option<Ty> {
        let [element, container] = call_of(part)?.args.as_mut_slice() else { return None };
        let (element_is, container_is) = (self.infer(element)?, self.infer(container)?);
        if let Some((read, _)) = self.schema.text_map(&container_is) {
            self.reads.insert(read);
            self.same(element, &element_is, &STRING, "a key here is a text")?;
            return Some(BOOL);
        }
        let expected = match &container_is {
            Ty::List(expected) | Ty::Map(expected, _) => expected.as_ref().clone(),
            Ty::Record(_) => STRING,
            Ty::Dyn | Ty::Var(_) => Ty::Dyn,
            other => {
                let mend = if *other == STRING { "; write `….contains(…)`" } else { "" };
                return self.fail(container, format!("after `in` a list or a map is expected, found {other}{mend}"));
            }
        };
        if !(element_is.is_number() && self.unifier.resolve(&expected).is_number()) {
            self.same(element, &element_is, &expected, "it can never be in there")?;
        }
        Some(BOOL)
    }

    fn infer_binary(&mut self, part: &mut Expression) -> Option<Ty> {
        let call = call_of(part)?;
        let name = call.func_name.trim_matches('_').to_owned();
        let name = name.as_str();
        let [left, right] = call.args.as_mut_slice() else { return None };
        let (l, r) = (self.infer(left), self.infer(right));
        let (l, r) = (l?, r?);
        let is_comparison = matches!(name, "==" | "!=" | "<" | "<=" | ">" | ">=");
        let equal = self.unifier.fit([(&r, &l)]);
        let l = self.unifier.resolve(&l);
        let result = if is_comparison {
            let is_test_of_equality = matches!(name, "==" | "!=");
            let both_numbers = l.is_number() && r.is_number();
            let fits = if is_test_of_equality {
                equal && has_equality(&l)
            } else {
                (equal || both_numbers) && l.is_simple(ORDERED)
            };
            fits.then_some(BOOL)
        } else {
            match (name, &l, &r) {
                _ if l == Ty::Dyn || r == Ty::Dyn => Some(if l == Ty::Dyn { r.clone() } else { l.clone() }),
                ("+" | "-", Ty::Named("timestamp"), Ty::Named("duration"))
                | ("+", Ty::Named("duration"), Ty::Named("timestamp")) => Some(TIMESTAMP),
                ("-", Ty::Named("timestamp"), Ty::Named("timestamp")) => Some(DURATION),
                ("+", Ty::Named("string" | "bytes" | "duration") | Ty::List(_), _)
                | ("-", Ty::Named("duration"), _)
                | ("+" | "-" | "*" | "/", Ty::Named("int" | "uint" | "double"), _)
                | ("%", Ty::Named("int" | "uint"), _)
                    if equal =>
                {
                    Some(l.clone())
                }
                _ => None,
            }
        };
        if result.is_some() {
            return result;
        }
        let mend = match (&l, &r) {
            (Ty::Named("quantity" | "semver"), _) if l == r && !matches!(name, "+" | "-") => {
                "; write `a.isLessThan(b)`, `a.isGreaterThan(b)` or `a.compareTo(b)`".to_owned()
            }
            (Ty::Named("quantity"), _) => "; write `a.add(b)` or `a.sub(b)`".to_owned(),
            (Ty::Named("null"), _) | (_, Ty::Named("null")) => {
                "; nothing is `null` here: an absent label is \"\", and `has(…)` asks for a field".to_owned()
            }
            (Ty::Optional(_), _) => mend_of(&l, &r),
            (Ty::Named("double"), Ty::Named("int" | "uint")) => mend_of(&r, &l),
            _ => Some(mend_of(&l, &r)).filter(|mend| !mend.is_empty()).unwrap_or_else(|| mend_of(&r, &l)),
        };
        self.fail(part, format!("`{name}` does not take {l} and {r}{mend}"))
    }

    fn infer_function(&mut self, part: &mut Expression) -> Option<Ty> {
        self.flatten_namespace(part);
        let id = part.id;
        let call = call_of(part)?;
        let name = call.func_name.clone();
        if matches!(name.as_str(), "optMap" | "optFlatMap") && call.target.is_some() {
            return self.infer_opt_map(part, name == "optFlatMap");
        }
        let is_method = call.target.is_some();
        if name == "format" && is_method {
            self.infer_format(part)?;
            return Some(STRING);
        }
        let mut types = Vec::new();
        if let Some(target) = &mut call.target {
            types.push(self.infer(target)?);
        }
        if self.schema.overloads(&name, is_method).is_empty() {
            return self.no_overload(part, &name, is_method, &types);
        }
        for argument in &mut call.args {
            types.push(self.infer(argument)?);
        }
        let Some((result, reads)) = self.overload(&name, is_method, &types) else {
            return self.no_overload(part, &name, is_method, &types);
        };
        self.reads.extend(reads.split_whitespace());
        let call = call_of(part)?;
        if name == "sum" && is_method {
            call.args.push(rewrite::zero(&result, id));
        }
        if reads.contains("facts.") {
            let is_known = match call.args.first().map(|source| &source.expr) {
                Some(Expr::Literal(LiteralValue::String(source))) => {
                    self.facts.iter().any(|known| known == source.inner()).then_some(()).ok_or(source.to_string())
                }
                _ => Err(String::new()),
            };
            if let Err(source) = is_known {
                let known = self.facts.join(", ");
                let mend = suggestion(&source, self.facts.iter().map(String::as_str));
                return self.fail(
                    part,
                    format!("a source of facts is one that the file lists under `facts` ({known}), as a literal{mend}"),
                );
            }
        }
        self.check_pattern(part, &name)?;
        if let Some(Ty::Named(first)) = types.first()
            && let Some(replacement) = functions::replacement(&name, first, types.len())
        {
            call_of(part)?.func_name = replacement;
        }
        Some(result)
    }

    /// The types of the values to format; those that have another text in Kubernetes get it.
    fn infer_format(&mut self, part: &mut Expression) -> Option<()> {
        let call = call_of(part)?;
        let (Some(Expr::Literal(LiteralValue::String(text))), [Expression { expr: Expr::List(list), .. }]) =
            (call.target.as_ref().map(|target| &target.expr), call.args.as_mut_slice())
        else {
            return self.fail(part, "`format` is called on a literal, with a list of values: `\"%s\".format([x])`");
        };
        let text = text.replace("%%", "");
        let verbs: Vec<_> =
            text.split('%').skip(1).filter_map(|clause| clause.chars().find(char::is_ascii_alphabetic)).collect();
        if verbs.len() != list.elements.len() {
            let found = list.elements.len();
            return self.fail(part, format!("`format` has {} places, and {found} values", verbs.len()));
        }
        for (item, verb) in list.elements.iter_mut().zip(verbs) {
            let ty = self.infer(item)?;
            if matches!(&ty, Ty::Optional(_) | Ty::Named("quantity" | "semver" | "ip")) || !has_equality(&ty) {
                let mend = mend_of(&ty, &Ty::Dyn);
                return self.fail(item, format!("{ty} has no text to format{mend}"));
            }
            match verb {
                's' if !matches!(ty, Ty::Named("string" | "int" | "bool")) => rewrite::show(item),
                // Kubernetes writes them as people of its locale do.
                'e' | 'f' => return self.fail(item, "`%e` and `%f` are not offered; write `%s`"),
                _ => {}
            }
        }
        Some(())
    }

    /// `optional.of(x)` is no method of a variable `optional`, but the function `optional.of`.
    fn flatten_namespace(&self, part: &mut Expression) {
        let Some(call) = call_of(part) else { return };
        let Some(Expr::Ident(namespace)) = call.target.as_ref().map(|target| &target.expr) else { return };
        let name = format!("{namespace}.{}", call.func_name);
        let is_variable = self.is_taken(namespace) || self.scope.iter().any(|(own, _)| own == namespace);
        if !is_variable && (self.schema.functions().any(|known| known == name) || schema::is_left_out(&name)) {
            call.func_name = name;
            call.target = None;
        }
    }

    /// The result and the reads of the first overload that takes values of these types.
    fn overload(&mut self, name: &str, is_method: bool, types: &[Ty]) -> Option<(Ty, &'static str)> {
        for overload in self.schema.overloads(name, is_method) {
            let first = self.unifier.fresh(VARIABLES);
            let (parameters, result) = overload.types(first);
            let letter = |letter: u8| Ty::Var(first + usize::from(letter - b'A'));
            if parameters.len() == types.len()
                && self.unifier.fit(types.iter().zip(&parameters))
                && self.unifier.resolve(&letter(b'C')).is_simple(ORDERED)
                && self.unifier.resolve(&letter(b'S')).is_simple(SUMMABLE)
            {
                return Some((self.unifier.resolve(&result), overload.reads));
            }
        }
        None
    }

    fn no_overload<T>(&mut self, part: &Expression, name: &str, is_method: bool, types: &[Ty]) -> Option<T> {
        let overloads = self.schema.overloads(name, is_method);
        if overloads.is_empty() {
            let text = if schema::is_left_out(name) {
                format!("`{name}` of Kubernetes is not offered")
            } else if !self.schema.overloads(name, !is_method).is_empty() {
                let form = if is_method { format!("{name}(x)") } else { format!("x.{name}(…)") };
                format!("`{name}` is called as `{form}`")
            } else if is_method && matches!(name, "exists" | "all" | "map" | "filter" | "exists_one") {
                format!(
                    "`{name}` takes a variable and a condition: `list.{name}(x, …)`; loops with two variables are not offered"
                )
            } else {
                let mend = match types.first().filter(|_| is_method).map(|ty| self.schema.methods_of(ty)) {
                    Some(methods) if !methods.is_empty() => suggestion(name, methods),
                    _ => suggestion(name, self.schema.functions()),
                };
                format!("there is no function `{name}`{mend}")
            };
            return self.fail(part, text);
        }
        let of_this = |overload: &&Overload| !is_method || types.first() == overload.types(0).0.first();
        let of_this: Vec<_> = overloads.iter().copied().filter(of_this).collect();
        let shown = |overload: &&Overload| {
            let (parameters, _) = overload.types(0);
            let on = if is_method { format!("{}.", parameters[0]) } else { String::new() };
            format!("`{on}{name}{}`", overload.parameters())
        };
        let expected: Vec<_> = if of_this.is_empty() { &overloads } else { &of_this }.iter().map(shown).collect();
        let own: Vec<_> = types.iter().skip(usize::from(is_method)).map(Ty::to_string).collect();
        let on = if is_method { format!("{}.", types[0]) } else { String::new() };
        // The first argument that would have to be another.
        let (first, _) = overloads[0].types(0);
        let mend =
            types.iter().zip(&first).map(|(found, expected)| mend_of(found, expected)).find(|mend| !mend.is_empty());
        let text = format!(
            "`{on}{name}({})` is not known; expected {}{}",
            own.join(", "),
            expected.join(" or "),
            mend.unwrap_or_default()
        );
        self.fail(part, text)
    }

    fn infer_opt_map(&mut self, part: &mut Expression, flat: bool) -> Option<Ty> {
        let id = part.id;
        let call = call_of(part)?;
        let [variable, body] = call.args.as_mut_slice() else {
            return self.fail(part, "expected a variable and a value: `x.optMap(v, …)`");
        };
        let Expr::Ident(name) = variable.expr.clone() else {
            let variable = variable.clone();
            return self.fail(&variable, "expected the name of a variable");
        };
        let mut target = *call.target.take()?;
        let ty = self.infer(&mut target)?;
        let value = match ty {
            Ty::Optional(value) => value.as_ref().clone(),
            other => return self.fail(&target, format!("expected an optional, found {other}")),
        };
        let mut body = std::mem::take(body);
        self.scope.push((name.clone(), value));
        let result = self.infer(&mut body);
        self.scope.pop();
        let result = result?;
        if flat && !matches!(result, Ty::Optional(_)) {
            return self.fail(&body, format!("expected an optional, found {result}"));
        }
        *part = rewrite::opt_map(target, name, body, flat, id);
        Some(if flat { result } else { result.optional() })
    }

    /// Literals that would fail each time: patterns, quantities, versions, addresses.
    fn check_pattern(&mut self, part: &mut Expression, name: &str) -> Option<()> {
        let call = call_of(part)?;
        let Some(Expr::Literal(LiteralValue::String(text))) = call.args.last().map(|argument| &argument.expr) else {
            return Some(());
        };
        match functions::check_literal(name, call.args.len(), text.inner()) {
            Ok(()) => Some(()),
            Err(error) => self.fail(part, error),
        }
    }
}

/// Objects and maps that are read key by key cannot be compared: that would read all of them.
fn has_equality(ty: &Ty) -> bool {
    match ty {
        Ty::Named(name) => !name.starts_with(char::is_uppercase),
        Ty::List(inner) | Ty::Optional(inner) => has_equality(inner),
        _ => true,
    }
}
