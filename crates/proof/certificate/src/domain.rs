//! The bytes of a domain in a claim (version 2 of the format, section 4.1 of its specification).
//!
//! A domain has only one encoding: bytes that are not in the normal form of [`Domain`] are refused.

use std::io::Read;

use secateur_model::{Column, Domain, FeatureId, Group, GroupKind, Side, Where};

use crate::encode::{float, number};
use crate::reader::{ReadError, Reader};

/// The bits of a column's first byte, in the order in which its floats follow.
const MISSING: u8 = 1;
const MIN: u8 = 2;
const MAX: u8 = 4;
const WHOLE: u8 = 8;
const F32: u8 = 16;
const VALUES: u8 = 32;

const ONE_HOT: u8 = 0;
const ONE_HOT_OR_NONE: u8 = 1;
const ORDERED: u8 = 2;
const TABLE: u8 = 3;

const AT_LEAST: u8 = 0;
const AT_MOST: u8 = 1;

pub(crate) fn encode_domain(domain: &Domain, out: &mut Vec<u8>) {
    out.push(u8::from(domain.missing()));
    number(out, domain.columns().count() as u64);
    for (feature, column) in domain.columns() {
        number(out, feature.0.into());
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        out.push(
            bit(column.missing, MISSING)
                | bit(column.min.is_some(), MIN)
                | bit(column.max.is_some(), MAX)
                | bit(column.whole, WHOLE)
                | bit(column.f32_only, F32)
                | bit(column.values.is_some(), VALUES),
        );
        column.min.iter().chain(&column.max).for_each(|&limit| float(out, limit));
        if let Some(values) = &column.values {
            number(out, values.len() as u64);
            values.iter().for_each(|&value| float(out, value));
        }
    }
    number(out, domain.groups().len() as u64);
    for group in domain.groups() {
        out.push(match &group.kind {
            GroupKind::OneHot { none: false } => ONE_HOT,
            GroupKind::OneHot { none: true } => ONE_HOT_OR_NONE,
            GroupKind::Ordered => ORDERED,
            GroupKind::Table(_) => TABLE,
        });
        number(out, group.columns.len() as u64);
        group.columns.iter().for_each(|column| number(out, column.0.into()));
        if let GroupKind::Table(rows) = &group.kind {
            number(out, rows.len() as u64);
            rows.iter().flatten().for_each(|&value| float(out, value));
        }
    }
    number(out, domain.wheres().len() as u64);
    for own in domain.wheres() {
        out.extend_from_slice(&own.digest());
        number(out, own.output().into());
        out.push(match own.side() {
            Side::AtLeast => AT_LEAST,
            Side::AtMost => AT_MOST,
        });
        float(out, own.bound());
    }
}

impl<R: Read> Reader<R> {
    pub(crate) fn read_domain(&mut self) -> Result<Domain, ReadError> {
        let missing = self.choice(2)? == 1;
        let columns = self.list(Self::read_column)?;
        let groups = self.list(Self::read_group)?;
        let wheres = self.list(Self::read_where)?;
        let ascending = columns.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let domain = Domain::new(missing, columns.iter().cloned(), groups.clone());
        let domain = domain.map_err(|_| ReadError::Domain)?.with_wheres(wheres.clone());
        // The bytes were in the normal form only if reading them gives the same domain. Zeros have
        // no sign there.
        let signs = |value: &f64| value.to_bits() != (-0.0f64).to_bits();
        let plain = columns.iter().all(|(_, column)| {
            column.min.iter().chain(&column.max).chain(column.values.iter().flatten()).all(signs)
        });
        let plain_groups = groups.iter().all(|group| match &group.kind {
            GroupKind::Table(rows) => rows
                .iter()
                .flatten()
                .all(|value| signs(value) && (!value.is_nan() || value.to_bits() == f64::NAN.to_bits())),
            _ => true,
        });
        let same = domain.columns().map(|(feature, column)| (feature, column.clone())).eq(columns);
        if ascending
            && plain
            && plain_groups
            && same
            && domain.groups() == groups
            && domain.wheres() == wheres
        {
            Ok(domain)
        } else {
            Err(ReadError::Domain)
        }
    }

    /// A condition on the score of a model that is known only by its digest.
    fn read_where(&mut self) -> Result<Where, ReadError> {
        let digest = self.array()?;
        let output = self.index()?;
        let side = match self.choice(2)? {
            AT_LEAST => Side::AtLeast,
            _ => Side::AtMost,
        };
        let bound = self.float()?;
        if bound.to_bits() == (-0.0f64).to_bits() {
            return Err(ReadError::Domain);
        }
        Where::of_digest(digest, output, side, bound).map_err(|_| ReadError::Domain)
    }

    fn read_column(&mut self) -> Result<(FeatureId, Column), ReadError> {
        let feature = FeatureId(self.index()?);
        let bits = self.choice(64)?;
        let has = |bit: u8| bits & bit != 0;
        let min = if has(MIN) { Some(self.float()?) } else { None };
        let max = if has(MAX) { Some(self.float()?) } else { None };
        let values = if has(VALUES) { Some(self.list(Self::float)?) } else { None };
        let column =
            Column { missing: has(MISSING), min, max, whole: has(WHOLE), f32_only: has(F32), values };
        Ok((feature, column))
    }

    fn read_group(&mut self) -> Result<Group, ReadError> {
        let kind = self.choice(4)?;
        let columns: Vec<FeatureId> = self.list(|reader| reader.index().map(FeatureId))?;
        let kind = match kind {
            ONE_HOT => GroupKind::OneHot { none: false },
            ONE_HOT_OR_NONE => GroupKind::OneHot { none: true },
            ORDERED => GroupKind::Ordered,
            _ => {
                let width = columns.len();
                if width == 0 {
                    return Err(ReadError::Domain);
                }
                GroupKind::Table(self.list(|reader| (0..width).map(|_| reader.float()).collect())?)
            }
        };
        Ok(Group { columns, kind })
    }
}
