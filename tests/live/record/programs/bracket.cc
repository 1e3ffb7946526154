#include "bracket.c"
