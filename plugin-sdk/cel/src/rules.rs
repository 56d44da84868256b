//! The rules of one policy, compiled.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cel::{
    Context, Env, Value,
    common::{
        types::{CelBool, CelDouble, CelInt, CelString, CelUInt},
        value::{CowVal, Val},
    },
    parser::Expression,
};

use crate::{
    check::{Checked, Checker},
    fault, functions,
    json::Json,
    problem::Problem,
    settings::{Condition, Settings},
    source::Source,
    types::{BOOL, NULL, STRING, Ty},
    values::world::World,
};

/// Maximum bytes of a reason.
const MAX_REASON_BYTES: usize = 1024;

/// Maximum of each: variables, conditions.
const MAX_EXPRESSIONS: usize = 256;

/// The rules.
#[derive(Debug)]
pub(crate) struct Compiled {
    filter: Vec<Filter>,
    score: Option<Expression>,
    sources: Vec<Source>,
    reads: BTreeSet<&'static str>,
    remarks: Vec<Problem>,
    bind: bool,
    settings: Box<dyn Val>,
    environment: Environment,
}

/// The functions. `cel` gives no `Debug` for them.
struct Environment(Arc<Env>);

#[derive(Debug)]
struct Filter {
    condition: Expression,
    message: Message,
    unresolvable: bool,
}

#[derive(Debug)]
enum Message {
    Text(String),
    Expression(Expression),
}

/// Why a node is rejected.
pub(crate) struct Rejection {
    pub(crate) reason: String,
    pub(crate) unresolvable: bool,
}

// === impl Environment ===

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

// === impl Compiled ===

impl Compiled {
    /// Checks and compiles all rules.
    ///
    /// # Errors
    /// All problems, one a line.
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let rules = &settings.cel;
        // Without `settings` any key of them is absent.
        let own = if settings.own == Json::Null { &Json::Map(BTreeMap::new()) } else { &settings.own };
        let mut checker = Checker::new(Ty::of_json(own), settings.facts.clone());
        if rules.filter.is_empty() && rules.score.is_none() {
            checker.problems.push(Problem::at_start("", "it has no rule; expected `filter`, `score` or both"));
        }
        if rules.bind && rules.filter.is_empty() {
            checker.problems.push(Problem::at_start("/bind", "there is no `filter` to ask again"));
        }
        if rules.variables.len().max(rules.filter.len()) > MAX_EXPRESSIONS {
            let text = format!("at most {MAX_EXPRESSIONS} variables and {MAX_EXPRESSIONS} conditions are allowed");
            checker.problems.push(Problem::at_start("", text));
            return Err(lines(&checker.problems));
        }
        for (index, variable) in rules.variables.iter().enumerate() {
            let pointer = format!("/variables/{index}");
            check_name(&mut checker, &format!("{pointer}/name"), &variable.name);
            let found = checker.check(format!("{pointer}/expression"), &variable.expression);
            checker.add_variable(&variable.name, found);
        }
        let filter: Vec<_> = rules
            .filter
            .iter()
            .enumerate()
            .map(|(index, condition)| check_condition(&mut checker, index, condition))
            .collect();
        let score = rules.score.as_ref().map(|text| {
            let expected = |ty: &Ty| ty.is_number().then_some(()).ok_or("a score is a number, 0 to 100");
            check_rule(&mut checker, "/score".to_owned(), text, expected)
        });
        if !checker.problems.is_empty() {
            return Err(lines(&checker.problems));
        }
        let environment = functions::environment().map_err(|error| error.to_string())?;
        Ok(Self {
            filter: filter.into_iter().flatten().collect(),
            score: score.flatten(),
            sources: checker.sources,
            reads: checker.described,
            remarks: checker.remarks,
            bind: rules.bind,
            settings: own.to_val(),
            environment: Environment(Arc::new(environment)),
        })
    }

    /// `{"verbs": […], "reads": […], "remarks": […]}`.
    pub(crate) fn describe(&self) -> String {
        let verbs = [("filter", !self.filter.is_empty()), ("score", self.score.is_some()), ("bind", self.bind)];
        let verbs: Vec<_> = verbs.into_iter().filter_map(|(verb, is_there)| is_there.then_some(verb)).collect();
        let quoted = |text: String| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let remarks = self.remarks.iter().map(|remark| quoted(remark.to_string())).collect::<Vec<_>>().join(", ");
        format!(r#"{{"verbs":{verbs:?},"reads":{:?},"remarks":[{remarks}]}}"#, Vec::from_iter(&self.reads))
    }

    /// The first condition that a node does not fulfil.
    ///
    /// # Errors
    /// Which part of which expression failed, and why.
    pub(crate) fn filter(&self, world: &World) -> Result<Option<Rejection>, String> {
        let context = self.context(world);
        for filter in &self.filter {
            let fits =
                self.evaluate(&filter.condition, &context, |value| value.downcast_ref::<CelBool>().map(|fits| **fits))?;
            if fits {
                continue;
            }
            let mut reason = match &filter.message {
                Message::Text(text) => text.clone(),
                Message::Expression(expression) => self.evaluate(expression, &context, |value| {
                    value.downcast_ref::<CelString>().map(|text| text.inner().to_owned())
                })?,
            };
            reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
            return Ok(Some(Rejection { reason, unresolvable: filter.unresolvable }));
        }
        Ok(None)
    }

    /// The score of a node.
    ///
    /// # Errors
    /// As [`Compiled::filter`]; a number that is no score, too.
    pub(crate) fn score(&self, world: &World) -> Result<u32, String> {
        let Some(score) = &self.score else { return Err("there is no `score`".to_owned()) };
        let number = self.evaluate(score, &self.context(world), |value| {
            let int = value.downcast_ref::<CelInt>().map(|number| **number as f64);
            let uint = || value.downcast_ref::<CelUInt>().map(|number| **number as f64);
            int.or_else(uint).or_else(|| value.downcast_ref::<CelDouble>().map(|number| number.round()))
        })?;
        match number {
            0.0..=100.0 => Ok(number as u32),
            _ => Err(Problem::at_start("/score", format!("a score is 0 to 100, found {number}")).to_string()),
        }
    }

    fn context<'v>(&self, world: &'v World<'v>) -> Context<'v, 'v> {
        let mut context = Context::with_env(Arc::clone(&self.environment.0));
        context.set_variable_resolver(world);
        context
    }

    fn evaluate<T>(
        &self,
        tree: &Expression,
        context: &Context,
        take: impl FnOnce(&CowVal<'_, '_>) -> Option<T>,
    ) -> Result<T, String> {
        functions::begin();
        match Value::resolve_val(tree, context) {
            Ok(value) => take(&value).ok_or_else(|| format!("found a {}", value.get_type().name())),
            Err(error) => Err(fault::describe(&self.sources, tree, context, &error)),
        }
    }

    /// The settings, as expressions see them.
    pub(crate) fn settings(&self) -> &dyn Val {
        self.settings.as_ref()
    }
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

fn check_name(checker: &mut Checker, pointer: &str, name: &str) {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_word {
        let text = format!("`{name}` is no name of a variable; expected a letter, then letters, digits and `_`");
        checker.problems.push(Problem::at_start(pointer, text));
    } else if checker.is_taken(name) {
        checker.problems.push(Problem::at_start(pointer, format!("`{name}` is taken; choose another name")));
    }
}

fn check_condition(checker: &mut Checker, index: usize, condition: &Condition) -> Option<Filter> {
    let pointer = format!("/filter/{index}");
    let is_bool = |ty: &Ty| (*ty == BOOL).then_some(()).ok_or("a condition is a bool: compare it");
    let tree = check_rule(checker, format!("{pointer}/expression"), &condition.expression, is_bool);
    let text = condition.message.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let message = match (text, &condition.message_expression) {
        (Some(text), None) if text.len() > MAX_REASON_BYTES => Err(("/message", "it has more than 1,024 bytes")),
        (Some(text), None) => Ok(Message::Text(text.to_owned())),
        (None, Some(expression)) => {
            let is_text = |ty: &Ty| (*ty == STRING).then_some(()).ok_or("a message is a string: write `string(…)`");
            let pointer = format!("{pointer}/messageExpression");
            return Some(Filter {
                message: Message::Expression(check_rule(checker, pointer, expression, is_text)?),
                condition: tree?,
                unresolvable: condition.unresolvable,
            });
        }
        (Some(_), Some(_)) => Err(("/messageExpression", "there is a `message` too; one of them is enough")),
        (None, None) => Err(("", "it has no `message`: say why a node is rejected, for those who wait for their pods")),
    };
    match message {
        Ok(message) => Some(Filter { condition: tree?, message, unresolvable: condition.unresolvable }),
        Err((field, text)) => {
            checker.problems.push(Problem::at_start(&format!("{pointer}{field}"), text));
            None
        }
    }
}

/// Checks an expression that must have a type and must depend on something.
fn check_rule(
    checker: &mut Checker,
    pointer: String,
    text: &str,
    expected: impl FnOnce(&Ty) -> Result<(), &'static str>,
) -> Option<Expression> {
    let Checked { tree, ty, reads, is_constant } = checker.check(pointer, text)?;
    checker.described.extend(reads);
    if let Err(error) = expected(&ty) {
        let found = if ty == NULL { "null".to_owned() } else { ty.to_string() };
        checker.problem(&tree, format!("{error}; found {found}"));
        return None;
    }
    if is_constant {
        checker.problem(&tree, "it has the same value for every pod and node; name something of them");
        return None;
    }
    Some(tree)
}
