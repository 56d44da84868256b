//! Types of expressions, as they are before anything is evaluated.

use std::{collections::BTreeMap, fmt, rc::Rc};

use crate::json::Json;

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ty {
    /// Only known as it is evaluated.
    Dyn,
    /// `int`, `string`, `quantity`, … and the objects of the schema, `Pod`, …, by name.
    Named(&'static str),
    List(Rc<Ty>),
    Map(Rc<Ty>, Rc<Ty>),
    Optional(Rc<Ty>),
    /// A map of the sidecar's settings, with the keys that it has.
    Record(Rc<BTreeMap<String, Ty>>),
    /// A type that a use will tell.
    Var(usize),
}

/// What is known of variables.
#[derive(Debug, Default)]
pub(crate) struct Unifier(Vec<Option<Ty>>);

pub(crate) const BOOL: Ty = Ty::Named("bool");
pub(crate) const BYTES: Ty = Ty::Named("bytes");
pub(crate) const DOUBLE: Ty = Ty::Named("double");
pub(crate) const DURATION: Ty = Ty::Named("duration");
pub(crate) const INT: Ty = Ty::Named("int");
pub(crate) const NULL: Ty = Ty::Named("null");
pub(crate) const STRING: Ty = Ty::Named("string");
pub(crate) const TIMESTAMP: Ty = Ty::Named("timestamp");
pub(crate) const UINT: Ty = Ty::Named("uint");

// === impl Ty ===

impl Ty {
    /// Reads the type at the start of a text, and returns the rest. A single capital is a variable: `list<A>`.
    pub(crate) fn read(text: &'static str, first_var: usize) -> (Self, &'static str) {
        let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let inner = |rest: &'static str| {
            let (ty, rest) = Self::read(rest.trim_start_matches(['<', ',']), first_var);
            (Rc::new(ty), rest)
        };
        let closed = |rest: &'static str| rest.strip_prefix('>').unwrap_or(rest);
        match (name, rest) {
            ("list", _) => {
                let (element, rest) = inner(rest);
                (Self::List(element), closed(rest))
            }
            ("optional", _) => {
                let (value, rest) = inner(rest);
                (Self::Optional(value), closed(rest))
            }
            ("map", _) => {
                let (key, rest) = inner(rest);
                let (value, rest) = inner(rest);
                (Self::Map(key, value), closed(rest))
            }
            ("dyn", _) => (Self::Dyn, rest),
            (name, _) => match name.as_bytes() {
                [capital @ b'A'..=b'Z'] => (Self::Var(first_var + usize::from(capital - b'A')), rest),
                _ => (Self::Named(name), rest),
            },
        }
    }

    /// The type of a value of the settings.
    pub(crate) fn of_json(json: &Json) -> Self {
        match json {
            Json::Null => NULL,
            Json::Bool(_) => BOOL,
            Json::Int(_) => INT,
            Json::Double(_) => DOUBLE,
            Json::Text(_) => STRING,
            Json::List(items) => {
                let mut types = items.iter().map(Self::of_json);
                let first = types.next().unwrap_or(Self::Dyn);
                Self::List(Rc::new(if types.all(|ty| ty == first) { first } else { Self::Dyn }))
            }
            Json::Map(entries) => {
                Self::Record(Rc::new(entries.iter().map(|(key, value)| (key.clone(), Self::of_json(value))).collect()))
            }
        }
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Named("int" | "uint" | "double"))
    }

    /// Whether a value may be a key of a map, or compared with `<`.
    pub(crate) fn is_simple(&self, names: &str) -> bool {
        match self {
            Self::Named(name) => names.split(' ').any(|one| one == *name),
            Self::Dyn | Self::Var(_) => true,
            _ => false,
        }
    }

    pub(crate) fn list(self) -> Self {
        Self::List(Rc::new(self))
    }

    pub(crate) fn optional(self) -> Self {
        Self::Optional(Rc::new(self))
    }

    /// An optional stays as it is.
    pub(crate) fn into_optional(self) -> Self {
        if matches!(self, Self::Optional(_)) { self } else { self.optional() }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Named(name) => f.write_str(name),
            Self::List(element) => write!(f, "list<{element}>"),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Self::Optional(value) => write!(f, "optional<{value}>"),
            Self::Record(_) => f.write_str("map"),
            Self::Var(_) => f.write_str("any"),
        }
    }
}

// === impl Unifier ===

impl Unifier {
    /// The first of so many new variables.
    pub(crate) fn fresh(&mut self, count: usize) -> usize {
        let first = self.0.len();
        self.0.resize(first + count, None);
        first
    }

    /// The type with all that is known of its variables.
    pub(crate) fn resolve(&self, ty: &Ty) -> Ty {
        match ty {
            Ty::Var(index) => match self.0.get(*index).and_then(Option::as_ref) {
                Some(known) => self.resolve(known),
                None => ty.clone(),
            },
            Ty::List(element) => self.resolve(element).list(),
            Ty::Optional(value) => self.resolve(value).optional(),
            Ty::Map(key, value) => Ty::Map(Rc::new(self.resolve(key)), Rc::new(self.resolve(value))),
            Ty::Dyn | Ty::Named(_) | Ty::Record(_) => ty.clone(),
        }
    }

    /// Whether all the values fit the types, one by one. What that says of variables is kept only if they do.
    pub(crate) fn fit<'t>(&mut self, pairs: impl IntoIterator<Item = (&'t Ty, &'t Ty)>) -> bool {
        let before = self.0.clone();
        let fit = pairs.into_iter().all(|(value, ty)| self.unify(value, ty));
        if !fit {
            self.0 = before;
        }
        fit
    }

    fn unify(&mut self, value: &Ty, ty: &Ty) -> bool {
        match (self.resolve(value), self.resolve(ty)) {
            (Ty::Dyn, _) | (_, Ty::Dyn) => true,
            (Ty::Var(a), Ty::Var(b)) if a == b => true,
            (other, Ty::Var(index)) | (Ty::Var(index), other) => {
                self.0[index] = Some(other);
                true
            }
            (Ty::List(a), Ty::List(b)) | (Ty::Optional(a), Ty::Optional(b)) => self.unify(&a, &b),
            (Ty::Map(ak, av), Ty::Map(bk, bv)) => self.unify(&ak, &bk) && self.unify(&av, &bv),
            (Ty::Record(fields), Ty::Map(key, element)) => {
                self.unify(&STRING, &key) && fields.values().all(|field| self.unify(field, &element))
            }
            (value, ty) => value == ty,
        }
    }
}
