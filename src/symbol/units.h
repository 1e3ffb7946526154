/* SPDX-License-Identifier: MIT */
/* symbol/units.h - the DWARF of a file, for this room. */
#ifndef SYMBOL_UNITS_H
#define SYMBOL_UNITS_H

#include "symbol/internal.h"

/* dwarf_position - the unit and the function that hold @address.  False: no unit.  A function that is
 * not known has address NULL. */
bool dwarf_position(struct dwarf *d, uint64_t address, Dwarf_Die *unit, Dwarf_Die *function);

/* dwarf_next - move @die to its sibling.  False if it was the last, or if the file is damaged: a
 * sibling lies behind, so no walk is endless. */
static inline bool dwarf_next(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) || next.addr <= die->addr)
		return false;
	*die = next;
	return true;
}

#endif
