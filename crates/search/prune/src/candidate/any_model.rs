//! A type that hides which kind of model it holds, so that the passes are compiled once, and not again
//! for every kind that a caller has.

use std::any::Any;
use std::rc::Rc;

use secateur_formats::{Edit, EditError};
use secateur_model::Ensemble;

use crate::candidate::plan::Editable;

/// A model that was given, or an edit of it; both are of the same kind.
#[derive(Clone)]
pub(crate) struct AnyModel(Rc<dyn AnyEditable>);

impl AnyModel {
    pub(crate) fn of<M: Editable>(model: &M) -> Self {
        Self(Rc::new(model.clone()))
    }

    /// The model itself. `M` is the kind that it was made of.
    pub(crate) fn into_model<M: Editable>(self) -> M {
        let model = self.0.into_any().downcast::<M>().expect("an edit is of its model's kind");
        Rc::unwrap_or_clone(model)
    }
}

/// What [`Editable`] has, without the type.
trait AnyEditable {
    fn ensemble(&self) -> &Ensemble;
    fn edit(&self, edit: &Edit) -> Result<AnyModel, EditError>;
    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError>;
    fn votes_only(&self) -> bool;
    fn bytes(&self) -> Option<u64>;
    fn into_any(self: Rc<Self>) -> Rc<dyn Any>;
}

impl<M: Editable> AnyEditable for M {
    fn ensemble(&self) -> &Ensemble {
        Editable::ensemble(self)
    }

    fn edit(&self, edit: &Edit) -> Result<AnyModel, EditError> {
        Ok(AnyModel(Rc::new(Editable::edit(self, edit)?)))
    }

    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        Editable::draft(self, edit)
    }

    fn votes_only(&self) -> bool {
        Editable::votes_only(self)
    }

    fn bytes(&self) -> Option<u64> {
        Editable::bytes(self)
    }

    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

impl Editable for AnyModel {
    fn ensemble(&self) -> &Ensemble {
        AnyEditable::ensemble(&*self.0)
    }

    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        AnyEditable::edit(&*self.0, edit)
    }

    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        AnyEditable::draft(&*self.0, edit)
    }

    fn votes_only(&self) -> bool {
        AnyEditable::votes_only(&*self.0)
    }

    fn bytes(&self) -> Option<u64> {
        AnyEditable::bytes(&*self.0)
    }
}
