//! The text of an expression, and where its parts are.

use cel::{
    common::ast::{ComprehensionExpr, EntryExpr, Expr, operators},
    parser::{
        Expression, PrattParser,
        pratt_parser::{Lexer, Token, TokenKind},
    },
};

use crate::problem::Problem;

/// Brackets within brackets that an expression may have, and outcomes of `?` in a row: its parser recurs for each.
const MAX_NESTING: u16 = 48;

/// Levels of the tree of an expression. To evaluate it takes a few frames for each.
const MAX_DEPTH: usize = 128;

/// Maximum bytes of an expression.
const MAX_BYTES: usize = 8 * 1024;

/// An expression as it was written.
#[derive(Debug)]
pub(crate) struct Source {
    /// A JSON pointer into the block `cel` of the sidecar.
    pub(crate) pointer: String,
    text: String,
    tokens: Vec<Token>,
}

/// A part of an expression: the tokens from the first to the last.
///
/// It is kept as the ID of its node, beside the number of its source, since the parser tells no places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    source: u16,
    first: u32,
    last: u32,
}

/// Gives each node its span: its names and literals are met in the order of the text.
struct Placing<'s> {
    source: &'s Source,
    number: u16,
    next: usize,
}

// === impl Source ===

impl Source {
    /// Parses an expression; the ID of each node is its span in the source with this number.
    pub(crate) fn parse(pointer: String, text: &str, number: u16) -> Result<(Self, Expression), Problem> {
        if text.len() > MAX_BYTES {
            let found = text.len();
            return Err(Problem::at_start(&pointer, format!("it has {found} bytes; at most {MAX_BYTES} are allowed")));
        }
        let source = Self { pointer, text: text.to_owned(), tokens: tokens(text) };
        if source.conditionals() > usize::from(MAX_NESTING) {
            return Err(Problem::at_start(&source.pointer, format!("at most {MAX_NESTING} of `? :` are allowed")));
        }
        let parser =
            PrattParser::new().max_recursion_depth(MAX_NESTING).error_recovery_limit(0).enable_optional_syntax(true);
        let mut expression = parser.parse(text).map_err(|errors| syntax_error(&source.pointer, &errors))?;
        if is_deep(&expression) {
            let text =
                format!("it has more than {MAX_DEPTH} levels; write parts of it as `variables`, or fewer of them");
            return Err(Problem::at_start(&source.pointer, text));
        }
        Placing { source: &source, number, next: 0 }.place(&mut expression);
        Ok((source, expression))
    }

    /// Line and column of a part, from 1; the column counts characters.
    pub(crate) fn position(&self, span: Span) -> (usize, usize) {
        let offset = self.bytes(span).0;
        let before = self.text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The text of a part.
    pub(crate) fn text_of(&self, span: Span) -> &str {
        let (start, end) = self.bytes(span);
        self.text.get(start..end).unwrap_or(&self.text)
    }

    /// At most so many `? :` are there: `?` stands for optionals too, and `:` for entries of maps.
    fn conditionals(&self) -> usize {
        let all = |kind: TokenKind| self.tokens.iter().filter(|token| token.kind == kind).count();
        all(TokenKind::TokQuestion).min(all(TokenKind::TokColon))
    }

    fn bytes(&self, span: Span) -> (usize, usize) {
        let at = |index: u32| self.tokens.get(index as usize);
        match (at(span.first), at(span.last)) {
            (Some(first), Some(last)) => (first.start, last.end),
            _ => (0, self.text.len()),
        }
    }
}

/// Whether a tree has too many levels. It must not recur to find out.
fn is_deep(tree: &Expression) -> bool {
    let mut rest = vec![(tree, 1)];
    while let Some((node, depth)) = rest.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        rest.extend(parts_of(node).into_iter().map(|part| (part, depth + 1)));
    }
    false
}

/// The nodes right below a node, in the order in which they are evaluated.
pub(crate) fn parts_of(node: &Expression) -> Vec<&Expression> {
    match &node.expr {
        Expr::Select(select) => vec![&select.operand],
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => {
            let parts = map.entries.iter().map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
                EntryExpr::StructField(field) => vec![&field.value],
            });
            parts.flatten().collect()
        }
        Expr::Comprehension(all) => vec![&all.iter_range, &all.accu_init, &all.loop_cond, &all.loop_step, &all.result],
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) => vec![],
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.lex();
        match token.kind {
            TokenKind::TokEnd | TokenKind::TokError => return tokens,
            TokenKind::TokWhitespace | TokenKind::TokComment => {}
            _ => tokens.push(token),
        }
    }
}

fn syntax_error(pointer: &str, errors: &cel::ParseErrors) -> Problem {
    if errors.errors.iter().any(|error| error.msg.contains("recursion limit")) {
        return Problem::at_start(pointer, format!("brackets are nested more than {MAX_NESTING} deep"));
    }
    let Some(error) = errors.errors.iter().find(|error| error.pos.0 > 0) else {
        let text = errors.errors.first().map_or("it is no expression", |error| &error.msg);
        return Problem::at_start(pointer, text.to_owned());
    };
    let text = error.msg.strip_prefix("Syntax error: ").unwrap_or(&error.msg);
    let at = |number: isize| usize::try_from(number).unwrap_or(1).max(1);
    Problem { pointer: pointer.to_owned(), line: at(error.pos.0), column: at(error.pos.1), text: text.to_owned() }
}

// === impl Span ===

impl Span {
    /// The span of a node; `None` for one that a macro made.
    pub(crate) fn of(id: u64) -> Option<Self> {
        let number = u16::try_from(id >> 48).ok()?.checked_sub(1)?;
        Some(Self { source: number, first: (id >> 24) as u32 & 0xff_ffff, last: id as u32 & 0xff_ffff })
    }

    /// The number of its source.
    pub(crate) fn source(self) -> usize {
        usize::from(self.source)
    }

    fn id(self) -> u64 {
        (u64::from(self.source) + 1) << 48 | u64::from(self.first) << 24 | u64::from(self.last)
    }
}

// === impl Placing ===

impl Placing<'_> {
    /// Places a node and all below it, and returns its tokens.
    fn place(&mut self, node: &mut Expression) -> Option<(usize, usize)> {
        let found = match &mut node.expr {
            Expr::Unspecified => None,
            Expr::Ident(name) => self.word(name.trim_start_matches('.')),
            Expr::Literal(_) => self.literal(),
            Expr::Select(select) => {
                let operand = self.place(&mut select.operand);
                let whole = join(operand, self.word(&select.field));
                // The macro `has` is no node.
                whole.map(|(first, last)| if select.test { (first.saturating_sub(2), last + 1) } else { (first, last) })
            }
            Expr::Call(call) if call.func_name == operators::OPT_SELECT => {
                let operand = call.args.first_mut().and_then(|operand| self.place(operand));
                // The field is a name in the text, and a literal in the tree.
                join(operand, self.skip_to(|_, token| token.kind == TokenKind::TokIdent))
            }
            Expr::Call(call) => {
                let mut all = call.target.as_mut().and_then(|target| self.place(target));
                if call.func_name.starts_with(char::is_alphabetic) {
                    all = join(all, self.word(call.func_name.trim_start_matches('.')));
                    if call.args.is_empty() {
                        all = join(all, self.skip_to(|_, token| token.kind == TokenKind::TokRightParen));
                    }
                }
                for argument in &mut call.args {
                    all = join(all, self.place(argument));
                }
                all
            }
            Expr::List(list) => {
                let open = self.skip_to(|_, token| token.kind == TokenKind::TokLeftBracket);
                let all = list.elements.iter_mut().fold(open, |all, element| join(all, self.place(element)));
                join(all, self.skip_to(|_, token| token.kind == TokenKind::TokRightBracket))
            }
            Expr::Map(map) => {
                let mut all = self.skip_to(|_, token| token.kind == TokenKind::TokLeftBrace);
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        all = join(all, self.place(&mut entry.key));
                        all = join(all, self.place(&mut entry.value));
                    }
                }
                join(all, self.skip_to(|_, token| token.kind == TokenKind::TokRightBrace))
            }
            Expr::Struct(_) => self.skip_to(|_, _| true),
            Expr::Comprehension(comprehension) => {
                let range = self.place(&mut comprehension.iter_range);
                let mut all = join(range, self.word(&comprehension.iter_var.clone()));
                for part in written_parts(comprehension) {
                    all = join(all, self.place(part));
                }
                all
            }
        };
        let found = found.map(|(first, last)| self.balanced(first, last));
        if let Some((first, last)) = found {
            node.id = Span { source: self.number, first: first as u32, last: last as u32 }.id();
        } else {
            node.id = 0;
        }
        found
    }

    fn word(&mut self, word: &str) -> Option<(usize, usize)> {
        self.skip_to(|source, token| source.text.get(token.start..token.end) == Some(word))
    }

    fn literal(&mut self) -> Option<(usize, usize)> {
        let is_literal = |token: &Token| {
            matches!(
                token.kind,
                TokenKind::TokNull
                    | TokenKind::TokFalse
                    | TokenKind::TokTrue
                    | TokenKind::TokInt
                    | TokenKind::TokUint
                    | TokenKind::TokFloat
                    | TokenKind::TokString
                    | TokenKind::TokBytes
            )
        };
        self.skip_to(|_, token| is_literal(token))
    }

    /// The next token of a kind; nothing is skipped where there is none.
    fn skip_to(&mut self, is_it: impl Fn(&Source, &Token) -> bool) -> Option<(usize, usize)> {
        let ahead = self.source.tokens.get(self.next..)?;
        let at = self.next + ahead.iter().position(|token| is_it(self.source, token))?;
        self.next = at + 1;
        Some((at, at))
    }

    /// Takes brackets in that are open or closed within.
    fn balanced(&self, mut first: usize, mut last: usize) -> (usize, usize) {
        let depth = |range: &[Token]| {
            let (mut lowest, mut depth) = (0_i32, 0_i32);
            for token in range {
                depth += bracket(token.kind);
                lowest = lowest.min(depth);
            }
            (-lowest, depth - lowest)
        };
        let tokens = &self.source.tokens;
        let (mut missing, mut open) = depth(tokens.get(first..=last).unwrap_or_default());
        while missing > 0 && first > 0 {
            first -= 1;
            missing -= bracket(tokens[first].kind);
        }
        while open > 0 && last + 1 < tokens.len() {
            last += 1;
            open += bracket(tokens[last].kind);
        }
        (first, last)
    }
}

fn bracket(kind: TokenKind) -> i32 {
    match kind {
        TokenKind::TokLeftParen | TokenKind::TokLeftBracket | TokenKind::TokLeftBrace => 1,
        TokenKind::TokRightParen | TokenKind::TokRightBracket | TokenKind::TokRightBrace => -1,
        _ => 0,
    }
}

fn join(one: Option<(usize, usize)>, other: Option<(usize, usize)>) -> Option<(usize, usize)> {
    match (one, other) {
        (Some((first, a)), Some((b, last))) => Some((first.min(b), a.max(last))),
        (one, other) => one.or(other),
    }
}

/// The arguments of the macro that a comprehension was made of, beyond the variable, in their order.
pub(crate) fn written_parts(comprehension: &mut ComprehensionExpr) -> Vec<&mut Expression> {
    fn of_step<'e>(step: &'e mut Expression, parts: &mut Vec<&'e mut Expression>) {
        match &mut step.expr {
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_mut_slice()) {
                (operators::CONDITIONAL, [condition, step, _]) => {
                    parts.push(condition);
                    of_step(step, parts);
                }
                (operators::LOGICAL_AND | operators::LOGICAL_OR, [_, predicate]) => parts.push(predicate),
                (operators::ADD, [_, element]) => of_step(element, parts),
                _ => {}
            },
            Expr::List(list) => parts.extend(&mut list.elements),
            _ => {}
        }
    }
    let mut parts = Vec::new();
    of_step(&mut comprehension.loop_step, &mut parts);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<String> {
        fn walk(source: &Source, node: &Expression, out: &mut Vec<String>) {
            if let Some(span) = Span::of(node.id) {
                out.push(source.text_of(span).to_owned());
            }
            match &node.expr {
                Expr::Call(call) => {
                    call.target.iter().for_each(|target| walk(source, target, out));
                    call.args.iter().for_each(|argument| walk(source, argument, out));
                }
                Expr::Select(select) => walk(source, &select.operand, out),
                Expr::Comprehension(all) => {
                    walk(source, &all.iter_range, out);
                    let mut all = all.clone();
                    for part in written_parts(&mut all) {
                        walk(source, part, out);
                    }
                }
                Expr::List(list) => list.elements.iter().for_each(|element| walk(source, element, out)),
                _ => {}
            }
        }
        let (source, expression) = Source::parse("/score".to_owned(), text, 3).unwrap();
        let mut out = Vec::new();
        walk(&source, &expression, &mut out);
        out
    }

    #[test]
    fn each_part_knows_its_text() {
        let table: [(&str, &[&str]); 7] = [
            ("a.b + 1", &["a.b + 1", "a.b", "a", "1"]),
            ("(a + b) * c", &["(a + b) * c", "a + b", "a", "b", "c"]),
            ("f(a, g())", &["f(a, g())", "a", "g()"]),
            (
                "has(a.b) && a.?c.orValue(-1) > 0",
                &[
                    "has(a.b) && a.?c.orValue(-1) > 0",
                    "has(a.b)",
                    "a",
                    "a.?c.orValue(-1) > 0",
                    "a.?c.orValue(-1)",
                    "a.?c",
                    "a",
                    "1",
                    "0",
                ],
            ),
            ("a['x)'] == ''", &["a['x)'] == ''", "a['x)']", "a", "'x)'", "''"]),
            ("l.exists(x, x == 1)", &["l.exists(x, x == 1)", "l", "x == 1", "x", "1"]),
            ("[1, 2].map(x, x > 1, x)", &["[1, 2].map(x, x > 1, x)", "[1, 2]", "1", "2", "x > 1", "x", "1", "x"]),
        ];
        for (text, expected) in table {
            let found = places(text);
            let written: Vec<_> = found.iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
            assert_eq!(written, expected, "{text}");
        }
    }
}
