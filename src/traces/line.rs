//! One line of a trace to one row.

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, NumberInt, Peek};

use crate::keys::{KeyRef, KeyTable};

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

    fn in_field(self, name: &str) -> Self {
        Self {
            reason: format!("field '{name}': {}", self.reason),
            ..self
        }
    }
}

impl From<JiterError> for LineError {
    fn from(error: JiterError) -> Self {
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
        Self {
            torn,
            reason: format!("{} at column {}", error.error_type, error.index + 1),
        }
    }
}

/// Reads a line; only a right one adds its dataset to `keys`.
pub(super) fn parse(line: &[u8], keys: &mut KeyTable) -> Result<Row, LineError> {
    // The parser does not look into the strings that it passes over.
    if let Err(error) = std::str::from_utf8(line) {
        let reason = format!("not UTF-8 at column {}", error.valid_up_to() + 1);
        return Err(LineError {
            torn: error.error_len().is_none(),
            reason,
        });
    }
    let mut json = Jiter::new(line).with_allow_inf_nan();
    let (mut step, mut sample, mut group, mut length, mut reward, mut dataset) =
        (None, None, None, None, None, None);
    let mut field = json.next_object()?.map(Field::of);
    while let Some(of) = field {
        // A field that comes twice: the later one counts, as in Python.
        match of {
            Field::Step => step = Some(index(&mut json).map_err(|e| e.in_field("step"))?),
            Field::Sample => sample = Some(index(&mut json).map_err(|e| e.in_field("sample_idx"))?),
            Field::Group => group = Some(index(&mut json).map_err(|e| e.in_field("prompt_idx"))?),
            Field::Tokens => {
                length = Some(count(&mut json).map_err(|e| e.in_field("response_tokens"))?);
            }
            Field::Reward => reward = Some(finite(&mut json).map_err(|e| e.in_field("reward"))?),
            Field::Dataset => dataset = Some(names(&mut json).map_err(|e| e.in_field("dataset"))?),
            Field::Other => json.next_skip()?,
        }
        field = json.next_key()?.map(Field::of);
    }
    json.finish()?;
    let names: Vec<String> = required(dataset, "dataset")?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(Row {
        step: required(step, "step")?,
        sample: required(sample, "sample_idx")?,
        group: required(group, "prompt_idx")?,
        length: required(length, "response_tokens")?,
        reward: required(reward, "reward")?,
        dataset: keys.intern(KeyRef::Many(&names)),
    })
}

enum Field {
    Step,
    Sample,
    Group,
    Tokens,
    Reward,
    Dataset,
    Other,
}

impl Field {
    fn of(name: &str) -> Self {
        match name {
            "step" => Self::Step,
            "sample_idx" => Self::Sample,
            "prompt_idx" => Self::Group,
            "response_tokens" => Self::Tokens,
            "reward" => Self::Reward,
            "dataset" => Self::Dataset,
            _ => Self::Other,
        }
    }
}

fn required<T>(value: Option<T>, name: &str) -> Result<T, LineError> {
    value.ok_or_else(|| LineError::invalid(format!("field '{name}' is missing")))
}

fn index(json: &mut Jiter<'_>) -> Result<u64, LineError> {
    let NumberInt::Int(value) = json.next_int()?;
    u64::try_from(value)
        .map_err(|_| LineError::invalid(format!("got {value}, expected an integer >= 0")))
}

fn finite(json: &mut Jiter<'_>) -> Result<f64, LineError> {
    let value = json.next_float()?;
    if value.is_finite() {
        Ok(value)
    } else {
        Err(LineError::invalid(format!(
            "got {value}, expected a finite number"
        )))
    }
}

/// Number of elements of a list of integers.
fn count(json: &mut Jiter<'_>) -> Result<u64, LineError> {
    let mut count = 0;
    let mut element = json.next_array()?;
    while let Some(peek) = element {
        json.known_int(peek)?;
        count += 1;
        element = json.array_step()?;
    }
    Ok(count)
}

/// The names of a dataset: one string, or a list of them.
fn names(json: &mut Jiter<'_>) -> Result<Vec<String>, LineError> {
    if json.peek()? == Peek::String {
        return Ok(vec![json.known_str()?.to_owned()]);
    }
    let mut names = Vec::new();
    let mut element = json.next_array()?;
    while element.is_some() {
        names.push(json.next_str()?.to_owned());
        element = json.array_step()?;
    }
    Ok(names)
}
