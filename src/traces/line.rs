//! One line of a trace to one row.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, NumberInt, Peek};

use super::fields::{Count, Fields, Role};
use super::numbers;
use crate::keys::{KeyRef, KeyTable};

/// The name of the dataset where lines name none.
const ALL: &str = "all";

/// The number of a group that is named by a text, say its prompt: texts are told
/// apart by 63 bits, in files of every kind alike.
#[must_use]
pub fn group_of_text(text: &str) -> u64 {
    FixedState::default().hash_one(text) >> 1
}

/// What is kept of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub step: u64,
    pub sample: u64,
    pub group: u64,
    pub length: u64,
    pub reward: f64,
    pub dataset: u32,
}

/// Why a line gives no row.
#[derive(Debug)]
pub(super) struct LineError {
    /// The line ends too early; all that is there may be right.
    pub torn: bool,
    pub reason: String,
}

impl LineError {
    fn invalid(reason: String) -> Self {
        Self {
            torn: false,
            reason,
        }
    }

    /// From the parser, which began at byte `start` of the line.
    fn new(error: &JiterError, start: usize) -> Self {
        use JsonErrorType as Json;
        let torn = matches!(
            error.error_type,
            JiterErrorType::JsonError(
                Json::EofWhileParsingList
                    | Json::EofWhileParsingObject
                    | Json::EofWhileParsingString
                    | Json::EofWhileParsingValue
            )
        );
        let column = start + error.index + 1;
        Self {
            torn,
            reason: format!("{} at column {column}", error.error_type),
        }
    }

    fn in_field(self, name: &str) -> Self {
        Self {
            reason: format!("field '{name}': {}", self.reason),
            ..self
        }
    }
}

/// Values as they are found; a field that comes twice: the later one counts, as
/// in Python.
#[derive(Default)]
struct Found {
    step: Option<u64>,
    sample: Option<u64>,
    group: Option<u64>,
    length: Option<u64>,
    reward: Option<f64>,
    dataset: Option<Vec<String>>,
}

/// Reads a line; only a right one adds its dataset to `keys`. `number` is that
/// of the sample where the line has none.
pub(super) fn parse(
    line: &[u8],
    fields: &Fields,
    number: u64,
    keys: &mut KeyTable,
) -> Result<Row, LineError> {
    // The parser does not look into the strings that it passes over.
    if let Err(error) = std::str::from_utf8(line) {
        let reason = format!("not UTF-8 at column {}", error.valid_up_to() + 1);
        return Err(LineError {
            torn: error.error_len().is_none(),
            reason,
        });
    }
    let mut found = Found::default();
    let mut cursor = Cursor { line, at: 0 };
    let mut next =
        cursor.parse(|json| Ok(json.next_object()?.map(|name| fields.roles_of(name))))?;
    while let Some(known) = next {
        let start = cursor.at;
        if known.is_empty() {
            cursor.skip()?;
        }
        for (role, name) in fields.roles().filter(|(role, _)| known.has(*role)) {
            cursor.at = start;
            found
                .take(role, &mut cursor, fields.count)
                .map_err(|error| error.in_field(name))?;
        }
        next = cursor.parse(|json| Ok(json.next_key()?.map(|name| fields.roles_of(name))))?;
    }
    cursor.parse(Jiter::finish)?;
    found.into_row(fields, number, keys)
}

impl Found {
    fn take(&mut self, role: Role, cursor: &mut Cursor<'_>, count: Count) -> Result<(), LineError> {
        match role {
            Role::Step => self.step = Some(cursor.index()?),
            Role::Sample => self.sample = Some(cursor.index()?),
            Role::Group => self.group = Some(cursor.group()?),
            Role::Length => self.length = Some(cursor.length(count)?),
            Role::Reward => self.reward = Some(cursor.reward()?),
            Role::Dataset => self.dataset = Some(cursor.names()?),
        }
        Ok(())
    }

    fn into_row(self, fields: &Fields, number: u64, keys: &mut KeyTable) -> Result<Row, LineError> {
        let dataset = match &fields.dataset {
            Some(name) => required(self.dataset, name)?,
            None => vec![ALL.to_owned()],
        };
        let dataset: Vec<&str> = dataset.iter().map(String::as_str).collect();
        Ok(Row {
            step: required(self.step, &fields.step)?,
            sample: match &fields.sample {
                Some(name) => required(self.sample, name)?,
                None => number,
            },
            group: required(self.group, &fields.group)?,
            length: required(self.length, &fields.length)?,
            reward: required(self.reward, &fields.reward)?,
            dataset: keys.intern(KeyRef::Many(&dataset)),
        })
    }
}

fn required<T>(value: Option<T>, name: &str) -> Result<T, LineError> {
    value.ok_or_else(|| LineError::invalid(format!("field '{name}' is missing")))
}

/// A place in a line.
struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Lets the parser read on from here, and goes where it stops.
    fn parse<T>(
        &mut self,
        read: impl FnOnce(&mut Jiter<'a>) -> Result<T, JiterError>,
    ) -> Result<T, LineError> {
        let mut json = Jiter::new(&self.line[self.at..]).with_allow_inf_nan();
        let value = read(&mut json).map_err(|error| LineError::new(&error, self.at))?;
        self.at += json.current_index();
        Ok(value)
    }

    /// The kind of the value to come; goes to where it begins.
    fn peek(&mut self) -> Result<Peek, LineError> {
        self.parse(Jiter::peek)
    }

    fn skip(&mut self) -> Result<(), LineError> {
        if self.peek()? == Peek::Array
            && let Some(length) = numbers::list(&self.line[self.at..])
        {
            self.at += length;
            return Ok(());
        }
        self.parse(Jiter::next_skip)
    }

    fn index(&mut self) -> Result<u64, LineError> {
        let NumberInt::Int(value) = self.parse(Jiter::next_int)?;
        u64::try_from(value)
            .map_err(|_| LineError::invalid(format!("got {value}, expected an integer >= 0")))
    }

    /// An integer, or a number made of a text.
    fn group(&mut self) -> Result<u64, LineError> {
        if self.peek()? != Peek::String {
            return self.index();
        }
        self.parse(|json| Ok(group_of_text(json.next_str()?)))
    }

    fn reward(&mut self) -> Result<f64, LineError> {
        let value = match self.peek()? {
            Peek::True | Peek::False => f64::from(u8::from(self.parse(Jiter::next_bool)?)),
            _ => self.parse(Jiter::next_float)?,
        };
        if value.is_finite() {
            Ok(value)
        } else {
            let reason = format!("got {value}, expected a finite number");
            Err(LineError::invalid(reason))
        }
    }

    fn length(&mut self, count: Count) -> Result<u64, LineError> {
        let measure = match count {
            Count::Words => |text: &str| text.split_whitespace().count(),
            Count::Characters => |text: &str| text.chars().count(),
            Count::Tokens => return self.tokens(),
        };
        self.parse(|json| Ok(measure(json.next_str()?) as u64))
    }

    /// A number, or the number of elements of a list of integers.
    fn tokens(&mut self) -> Result<u64, LineError> {
        let peek = self.peek()?;
        if peek == Peek::String {
            let reason = "got a text, which holds no tokens: count its words or characters";
            return Err(LineError::invalid(reason.to_owned()));
        }
        if peek.is_num() {
            return self.index();
        }
        if let Some((count, length)) = numbers::integers(&self.line[self.at..]) {
            self.at += length;
            return Ok(count);
        }
        self.parse(|json| {
            let mut count = 0;
            let mut element = json.next_array()?;
            while let Some(peek) = element {
                json.known_int(peek)?;
                count += 1;
                element = json.array_step()?;
            }
            Ok(count)
        })
    }

    /// The names of a dataset: one string, or a list of them.
    fn names(&mut self) -> Result<Vec<String>, LineError> {
        if self.peek()? == Peek::String {
            return self.parse(|json| Ok(vec![json.next_str()?.to_owned()]));
        }
        self.parse(|json| {
            let mut names = Vec::new();
            let mut element = json.next_array()?;
            while element.is_some() {
                names.push(json.next_str()?.to_owned());
                element = json.array_step()?;
            }
            Ok(names)
        })
    }
}
