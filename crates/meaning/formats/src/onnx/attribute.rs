//! One attribute of a node: lists of numbers or text, and tensors.
//!
//! Lists of numbers may be packed or not, and floats may be lists or tensors (the double form);
//! each is written back in the form in which it was read.

use std::ops::Range;

use secateur_model::NumberType;

use super::graph::unsupported;
use super::table::{Floats, MODES, Mode};
use super::wire::{Field, Message, Value, put_bytes, put_float, put_integer, put_varint};
use crate::error::{FormatError, Place, Problem};

/// The type of an attribute.
pub(super) const FLOATS: i64 = 6;
pub(super) const INTS: i64 = 7;
const STRINGS: i64 = 8;
const STRING: i64 = 3;
pub(super) const INT: i64 = 2;
pub(super) const TENSOR: i64 = 4;
/// The type of a tensor's elements.
pub(super) const UINT8: i64 = 2;

/// New content of an attribute.
pub(super) enum List<'a> {
    Ints(Vec<i64>),
    Floats(&'a Floats),
    Modes(&'a [Mode]),
    Text(&'a str),
}

/// An attribute of a node.
pub(super) struct Attribute<'a> {
    pub(super) name: &'a str,
    kind: i64,
    body: Message<'a>,
    pub(super) field: Range<usize>,
}

/// The attributes of a node.
pub(super) fn attributes<'a>(node: Message<'a>) -> impl Iterator<Item = Result<Attribute<'a>, FormatError>> {
    node.fields().filter_map(|field| match field {
        Ok(field) if field.number == 5 => Some(Attribute::read(&field)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

impl<'a> Attribute<'a> {
    pub(super) fn read(field: &Field<'a>) -> Result<Self, FormatError> {
        let body = field.message()?;
        let (mut name, mut kind) = ("", 0);
        for part in body.fields() {
            let part = part?;
            match part.number {
                1 => name = part.text()?,
                20 => kind = part.integer()?,
                _ => {}
            }
        }
        Ok(Self { name, kind, body, field: field.range.clone() })
    }

    pub(super) fn place(&self) -> Place {
        Place::Field(self.name.to_owned())
    }

    fn check_type(&self, expected: i64) -> Result<(), FormatError> {
        if self.kind == expected {
            return Ok(());
        }
        let expected = match expected {
            FLOATS => "a list of floats (6)",
            INTS => "a list of integers (7)",
            STRINGS => "a list of strings (8)",
            STRING => "a string (3)",
            INT => "an integer (2)",
            _ => "a tensor (4)",
        };
        let found = format!("attribute type {}", self.kind);
        Err(FormatError::new(self.place(), Problem::Value { found, expected }))
    }

    pub(super) fn ints<T: TryFrom<i64>>(&self) -> Result<Vec<T>, FormatError> {
        self.check_type(INTS)?;
        let mut values = Vec::new();
        let mut push = |value: u64| -> Result<(), FormatError> {
            let value = value as i64;
            let index = values.len();
            values.push(T::try_from(value).map_err(|_| {
                let place = Place::Field(format!("{}[{index}]", self.name));
                let expected = "a number of the size of an index";
                FormatError::new(place, Problem::Value { found: value.to_string(), expected })
            })?);
            Ok(())
        };
        for part in self.body.fields() {
            let part = part?;
            match (part.number, part.value) {
                (8, Value::Varint(value)) => push(value)?,
                (8, Value::Bytes(packed)) => packed.packed_varints().try_for_each(|value| push(value?))?,
                (8, _) => return Err(part.wrong_type("a number")),
                _ => {}
            }
        }
        Ok(values)
    }

    pub(super) fn floats(&self) -> Result<Vec<f64>, FormatError> {
        self.check_type(FLOATS)?;
        let mut values = Vec::new();
        for part in self.body.fields() {
            let part = part?;
            match (part.number, part.value) {
                (7, Value::Fixed32(value)) => values.push(f64::from(f32::from_le_bytes(value))),
                (7, Value::Bytes(packed)) => push_floats(self.place(), packed, NumberType::F32, &mut values)?,
                (7, _) => return Err(part.wrong_type("a float")),
                _ => {}
            }
        }
        Ok(values)
    }

    pub(super) fn strings<T>(
        &self,
        mut read: impl FnMut(Message<'a>, usize) -> Result<T, FormatError>,
    ) -> Result<Vec<T>, FormatError> {
        self.check_type(STRINGS)?;
        let mut values = Vec::new();
        for part in self.body.fields() {
            let part = part?;
            if part.number == 9 {
                values.push(read(part.message()?, values.len())?);
            }
        }
        Ok(values)
    }

    pub(super) fn string(&self) -> Result<&'a str, FormatError> {
        self.check_type(STRING)?;
        let mut text = "";
        for part in self.body.fields() {
            let part = part?;
            if part.number == 4 {
                text = part.text()?;
            }
        }
        Ok(text)
    }

    pub(super) fn int(&self) -> Result<i64, FormatError> {
        self.check_type(INT)?;
        let mut value = 0;
        for part in self.body.fields() {
            let part = part?;
            if part.number == 3 {
                value = part.integer()?;
            }
        }
        Ok(value)
    }

    fn tensor_body(&self) -> Result<Message<'a>, FormatError> {
        let mut body = None;
        for part in self.body.fields() {
            let part = part?;
            if part.number == 5 && body.replace(part.message()?).is_some() {
                return Err(FormatError::new(self.place(), Problem::DuplicateKey { key: "t".to_owned() }));
            }
        }
        body.ok_or_else(|| FormatError::new(self.place(), Problem::Missing))
    }

    /// The elements of a tensor of this type.
    pub(super) fn tensor(&self, number: NumberType) -> Result<Vec<f64>, FormatError> {
        self.check_type(TENSOR)?;
        let (sizes, values) = tensor(self.tensor_body()?, number, self.place())?;
        match sizes[..] {
            [_] => Ok(values),
            _ => {
                let found = format!("a tensor of {} dimensions", sizes.len());
                Err(FormatError::new(self.place(), Problem::Value { found, expected: "a list" }))
            }
        }
    }

    /// The elements of a tensor of unsigned bytes.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, FormatError> {
        self.check_type(TENSOR)?;
        let mut values: Vec<u64> = Vec::new();
        let (mut sizes, mut kind) = (Vec::new(), 0);
        for part in self.tensor_body()?.fields() {
            let part = part?;
            match (part.number, part.value) {
                (1, Value::Bytes(packed)) => {
                    packed.packed_varints().try_for_each(|size| size.map(|size| sizes.push(size)))?;
                }
                (1, _) => sizes.push(part.integer()? as u64),
                (2, _) => kind = part.integer()?,
                (5, Value::Bytes(packed)) => {
                    packed.packed_varints().try_for_each(|value| value.map(|value| values.push(value)))?;
                }
                (5, _) => values.push(part.integer()? as u64),
                (9, Value::Bytes(raw)) => values.extend(raw.bytes().iter().map(|&byte| u64::from(byte))),
                (13, _) | (14, Value::Varint(1..)) => {
                    let advice = "store the tensor in the file (onnx.load and onnx.save do it)";
                    return Err(unsupported(self.place(), "a tensor in another file", advice));
                }
                _ => {}
            }
        }
        if kind != UINT8 {
            let found = format!("element type {kind}");
            let expected = "one of unsigned bytes, uint8 (2)";
            return Err(FormatError::new(self.place(), Problem::Value { found, expected }));
        }
        if sizes[..] != [values.len() as u64] {
            let expected = sizes.first().map_or(0, |&size| usize::try_from(size).unwrap_or(usize::MAX));
            return Err(FormatError::new(self.place(), Problem::Length { expected, found: values.len() }));
        }
        let byte = |value: u64| {
            u8::try_from(value).map_err(|_| {
                let problem = Problem::Value { found: value.to_string(), expected: "an unsigned byte" };
                FormatError::new(self.place(), problem)
            })
        };
        values.into_iter().map(byte).collect()
    }

    /// This attribute with other content, which replaces the first old entry.
    pub(super) fn rewritten(&self, bytes: &[u8], list: &List<'_>) -> Result<Vec<u8>, FormatError> {
        let number = match list {
            List::Ints(_) => 8,
            List::Floats(Floats { tensor: None, .. }) => 7,
            List::Floats(_) => 5,
            List::Modes(_) => 9,
            List::Text(_) => 4,
        };
        let mut out = Vec::with_capacity(self.body.bytes().len());
        let mut written = false;
        for part in self.body.fields() {
            let part = part?;
            if part.number != number {
                out.extend(&bytes[part.range]);
                continue;
            }
            if std::mem::replace(&mut written, true) {
                continue;
            }
            let packed = matches!(part.value, Value::Bytes(_));
            match list {
                List::Ints(values) if packed => {
                    let mut inner = Vec::new();
                    values.iter().for_each(|&value| put_varint(&mut inner, value as u64));
                    put_bytes(&mut out, number, &inner);
                }
                List::Ints(values) => values.iter().for_each(|&value| put_integer(&mut out, number, value)),
                List::Floats(Floats { values, tensor: None, .. }) if packed => {
                    put_bytes(&mut out, number, &little_endian(values, NumberType::F32));
                }
                List::Floats(Floats { values, tensor: None, .. }) => {
                    values.iter().for_each(|&value| put_float(&mut out, number, value as f32));
                }
                List::Floats(Floats { values, tensor: Some(element), .. }) => {
                    put_bytes(&mut out, number, &rewritten_tensor(bytes, part.message()?, values, *element)?);
                }
                List::Text(text) => put_bytes(&mut out, number, text.as_bytes()),
                List::Modes(modes) => {
                    for mode in *modes {
                        let name = MODES.iter().find(|(_, other)| other == mode);
                        let (name, _) = name.expect("every mode is in the table");
                        put_bytes(&mut out, number, name.as_bytes());
                    }
                }
            }
        }
        Ok(out)
    }
}

/// Appends floats that are stored one after the other.
fn push_floats(
    place: Place,
    packed: Message<'_>,
    number: NumberType,
    values: &mut Vec<f64>,
) -> Result<(), FormatError> {
    let rest = match number {
        NumberType::F32 => {
            let (chunks, rest) = packed.bytes().as_chunks();
            values.extend(chunks.iter().map(|&chunk| f64::from(f32::from_le_bytes(chunk))));
            rest
        }
        NumberType::F64 => {
            let (chunks, rest) = packed.bytes().as_chunks();
            values.extend(chunks.iter().map(|&chunk| f64::from_le_bytes(chunk)));
            rest
        }
    };
    if rest.is_empty() {
        return Ok(());
    }
    let found = format!("a list of {} bytes", packed.bytes().len());
    Err(FormatError::new(place, Problem::Value { found, expected: "a whole number of floats" }))
}

/// The sizes of a tensor of this type and its elements; there are as many elements as the sizes
/// say.
pub(super) fn tensor(
    body: Message<'_>,
    number: NumberType,
    place: Place,
) -> Result<(Vec<i64>, Vec<f64>), FormatError> {
    let mut values = Vec::new();
    let mut sizes: Vec<i64> = Vec::new();
    let mut kind = 0;
    for part in body.fields() {
        let part = part?;
        match (part.number, part.value) {
            (1, Value::Bytes(packed)) => {
                packed.packed_varints().try_for_each(|size| size.map(|size| sizes.push(size as i64)))?;
            }
            (1, _) => sizes.push(part.integer()?),
            (2, _) => kind = part.integer()?,
            (4, Value::Fixed32(value)) => values.push(f64::from(f32::from_le_bytes(value))),
            (10, Value::Fixed64(value)) => values.push(f64::from_le_bytes(value)),
            (4, Value::Bytes(packed)) => push_floats(place.clone(), packed, NumberType::F32, &mut values)?,
            (10, Value::Bytes(packed)) => push_floats(place.clone(), packed, NumberType::F64, &mut values)?,
            (9, Value::Bytes(raw)) => push_floats(place.clone(), raw, number, &mut values)?,
            (13, _) | (14, Value::Varint(1..)) => {
                let advice = "store the tensor in the file (onnx.load and onnx.save do it)";
                return Err(unsupported(place, "a tensor in another file", advice));
            }
            _ => {}
        }
    }
    if kind != element_type(number) {
        let found = format!("element type {kind}");
        let expected = match number {
            NumberType::F32 => "that of the ensemble's input, float (1)",
            NumberType::F64 => "that of the ensemble's input, double (11)",
        };
        return Err(FormatError::new(place, Problem::Value { found, expected }));
    }
    let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(usize::try_from(size).ok()?));
    if count != Some(values.len()) {
        let expected = count.unwrap_or(0);
        return Err(FormatError::new(place, Problem::Length { expected, found: values.len() }));
    }
    Ok((sizes, values))
}

/// A tensor with other elements, stored in the same way.
fn rewritten_tensor(
    bytes: &[u8],
    tensor: Message<'_>,
    values: &[f64],
    element: NumberType,
) -> Result<Vec<u8>, FormatError> {
    let mut out = Vec::new();
    let (mut sized, mut written) = (false, false);
    for part in tensor.fields() {
        let part = part?;
        match (part.number, part.value) {
            (1, value) => {
                let size = values.len() as i64;
                match value {
                    _ if std::mem::replace(&mut sized, true) => {}
                    Value::Bytes(_) => {
                        let mut inner = Vec::new();
                        put_varint(&mut inner, size as u64);
                        put_bytes(&mut out, 1, &inner);
                    }
                    _ => put_integer(&mut out, 1, size),
                }
            }
            // Readers accept packed and unpacked lists; writers of protobuf 3 write packed ones.
            (4 | 9 | 10, _) => {
                if !std::mem::replace(&mut written, true) {
                    put_bytes(&mut out, part.number, &little_endian(values, element));
                }
            }
            _ => out.extend(&bytes[part.range]),
        }
    }
    Ok(out)
}

pub(super) fn element_type(number: NumberType) -> i64 {
    match number {
        NumberType::F32 => 1,
        NumberType::F64 => 11,
    }
}

pub(super) fn little_endian(values: &[f64], number: NumberType) -> Vec<u8> {
    match number {
        NumberType::F32 => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
        NumberType::F64 => values.iter().flat_map(|&value| value.to_le_bytes()).collect(),
    }
}
