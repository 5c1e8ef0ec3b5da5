//! Plots whose labels keep their size: the picture is an SVG that is stretched to the available
//! width; the labels are HTML beside it.
//!
//! Inside a plot both coordinates run from 0 to [`SIDE`], y downwards. Lines keep their width when
//! the picture is stretched (`vector-effect`). A dot is a line of length zero with round ends,
//! which stays round.

use std::fmt::Write;

use crate::escape;
use crate::number;

/// Width and height of the picture in its own coordinates.
pub(crate) const SIDE: f64 = 1000.0;

/// An axis from zero to a round number.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    high: f64,
    step: f64,
}

impl Axis {
    /// An axis for values up to `largest`, with at most five steps.
    pub(crate) fn up_to(largest: f64) -> Self {
        let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
        let magnitude = 10f64.powf((largest / 4.0).log10().floor());
        let magnitude = if magnitude > 0.0 { magnitude } else { f64::MIN_POSITIVE };
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .map(|factor| factor * magnitude)
            .into_iter()
            .find(|step| step * 4.0 >= largest);
        let step = step.unwrap_or(10.0 * magnitude);
        Self { high: (largest / step).ceil().max(1.0) * step, step }
    }

    /// An axis for counts, with whole steps only.
    pub(crate) fn of_counts(largest: u64) -> Self {
        let mut axis = Self::up_to(largest.max(1) as f64);
        if axis.step.fract() != 0.0 {
            axis.step = axis.step.ceil();
            axis.high = (largest.max(1) as f64 / axis.step).ceil() * axis.step;
        }
        axis
    }

    /// The position of a value on the axis, from 0 to 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        if value.is_finite() { (value / self.high).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// The values that get a label.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let Self { high, step } = *self;
        (0..=(high / step).round() as u32).map(move |tick| f64::from(tick) * step)
    }

    /// The y coordinate of a value.
    pub(crate) fn y(&self, value: f64) -> f64 {
        SIDE * (1.0 - self.share(value))
    }
}

/// A plot: a picture with labelled axes.
pub(crate) struct Plot<'a> {
    /// The element's id, unique in the page.
    pub(crate) id: &'a str,
    /// A title, for readers who do not see the picture.
    pub(crate) title: &'a str,
    /// A description of what it shows.
    pub(crate) description: &'a str,
    /// `tall` or `low`.
    pub(crate) class: &'a str,
    /// The vertical axis.
    pub(crate) y: &'a Axis,
    /// Labels below the picture: position (0 to 1) and text.
    pub(crate) below: &'a [(f64, String)],
    /// The name of the horizontal axis.
    pub(crate) x_name: &'a str,
    /// The picture as SVG elements.
    pub(crate) picture: &'a str,
}

impl Plot<'_> {
    /// The plot as HTML.
    pub(crate) fn html(&self) -> String {
        let mut html = format!("<div class=\"plot {}\">", self.class);
        html += "<div class=\"frame\"><div class=\"ys\" aria-hidden=\"true\">";
        for tick in self.y.ticks() {
            let _ = write!(
                html,
                "<span style=\"bottom:{:.2}%\">{}</span>",
                100.0 * self.y.share(tick),
                number::short(tick)
            );
        }
        let id = self.id;
        let _ = write!(
            html,
            "</div><svg viewBox=\"0 0 {SIDE} {SIDE}\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
            escape::text(self.title),
            escape::sentence(self.description)
        );
        for tick in self.y.ticks() {
            let y = self.y.y(tick);
            let _ = write!(html, "<line class=\"grid\" x1=\"0\" x2=\"{SIDE}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
        }
        html += self.picture;
        html += "</svg></div><div class=\"xs\" aria-hidden=\"true\">";
        for (place, label) in self.below {
            // The outermost labels are kept inside the picture.
            let side = if *place < 0.04 {
                " class=\"first\""
            } else if *place > 0.96 {
                " class=\"last\""
            } else {
                ""
            };
            let _ = write!(
                html,
                "<span{side} style=\"left:{:.2}%\">{}</span>",
                100.0 * place,
                escape::text(label)
            );
        }
        let _ = write!(
            html,
            "</div><div class=\"xname\" aria-hidden=\"true\">{}</div></div>",
            escape::text(self.x_name)
        );
        html
    }
}

/// A line through these points that changes in steps.
pub(crate) fn steps(class: &str, points: &[(f64, f64)]) -> String {
    let Some(&(x, y)) = points.first() else { return String::new() };
    let mut path = format!("M{x:.1} {y:.1}");
    for &(x, y) in &points[1..] {
        let _ = write!(path, "H{x:.1}V{y:.1}");
    }
    format!("<path class=\"{class}\" d=\"{path}\"/>")
}

/// A dot that stays round.
pub(crate) fn dot(class: &str, x: f64, y: f64) -> String {
    format!("<path class=\"dot {class}\" d=\"M{x:.1} {y:.1}h0\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_round_numbers_and_hold_their_values() {
        for largest in [0.0, 1e-300, 0.3, 1.0, 7.0, 99.0, 101.0, 1e6, 1e300, f64::INFINITY, f64::NAN] {
            let axis = Axis::up_to(largest);
            let ticks: Vec<f64> = axis.ticks().collect();
            assert!((2..=6).contains(&ticks.len()), "{largest}: {ticks:?}");
            assert_eq!(axis.share(0.0), 0.0);
            if largest.is_finite() {
                assert!(axis.high >= largest, "{largest}: {axis:?}");
            }
        }
        assert!(Axis::of_counts(3).ticks().all(|tick| tick.fract() == 0.0));
        assert_eq!(Axis::of_counts(1).ticks().count(), 2);
    }
}
