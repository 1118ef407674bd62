"""Words as data: those that say who is shown, by language, and those that name COCO's things."""
