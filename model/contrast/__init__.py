"""Why a model writes one word and not another: heads, terms and paths behind the difference."""
