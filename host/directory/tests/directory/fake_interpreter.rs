//! An interpreter of rules whose expressions are lists of words.

use plimsoll_core::{Ask, Fault, FaultKind, NodeSource, Policy, Read, Value, Verb, Verbs, Verdict};
use serde_json::{Value as Json, json};

/// An expression with the word `wrong` is refused, `broken` fails as it is evaluated, `placed` counts pods, and `unsaid`
/// does so without saying it. Each node is rejected with the first expression.
pub(crate) struct FakeInterpreter;

/// The settings of a call, and its first expression.
fn passed(ask: &Ask) -> (Json, String) {
    let Ok(Value::Text(settings)) = ask.view.read(Read::HostSettings) else { panic!("settings are text") };
    let settings: Json = serde_json::from_str(&settings).unwrap();
    let expression = settings["cel"]["filter"][0]["expression"].as_str().unwrap_or_default().to_owned();
    (settings, expression)
}

/// The place of a word, from 1.
fn place(expression: &str, word: &str) -> Option<(usize, usize)> {
    let mut lines = (1..).zip(expression.lines());
    lines.find_map(|(line, text)| Some((line, text[..text.find(word)?].chars().count() + 1)))
}

fn error(line: usize, column: usize, text: &str) -> String {
    format!("cel: /filter/0/expression:{line}:{column}: {text}")
}

impl Policy for FakeInterpreter {
    fn verbs(&self) -> Verbs {
        Verb::ALL.into_iter().collect()
    }

    fn validate(&self, ask: &Ask) -> Result<Result<(), String>, Fault> {
        let (settings, expression) = passed(ask);
        assert_eq!(settings["describe"], true, "{settings}");
        if let Some((line, column)) = place(&expression, "wrong") {
            return Ok(Err(error(line, column, "no such word: is it right?")));
        }
        let reads = expression.split(' ').filter(|word| *word == "placed").map(|_| "placed.count");
        let verbs = ["filter", "score"].into_iter().filter(|verb| settings["cel"].get(verb).is_some());
        let remarks = place(&expression, "slow").map(|(line, column)| error(line, column, "it is slow"));
        let description = json!({"verbs": verbs.collect::<Vec<_>>(), "reads": reads.collect::<Vec<_>>(), "remarks": Vec::from_iter(remarks)});
        Ok(Err(format!("describe: {description}")))
    }

    fn score_each(&self, _: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        while nodes.next().is_some() {
            nodes.answer(0);
        }
        Ok(())
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        let (settings, expression) = passed(ask);
        if let Some((line, column)) = place(&expression, "broken") {
            return Err(Fault::new(FaultKind::Panic, error(line, column, "it is broken")));
        }
        let reason = format!("{expression} {} {}", settings["settings"], settings["facts"]);
        while let Some(node) = nodes.next() {
            if expression.contains("placed") || expression.contains("unsaid") {
                let count = Read::PlacedCount(node);
                ask.view.read(count).map_err(|error| Fault::new(FaultKind::Read, error.to_string()))?;
            }
            nodes.answer(Verdict::Unschedulable(reason.as_str().into()));
        }
        Ok(())
    }
}
