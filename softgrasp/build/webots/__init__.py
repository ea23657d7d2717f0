"""A compiled scene → a Webots world: solids, joints, contacts, and what drives them."""
