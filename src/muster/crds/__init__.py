"""Our CustomResourceDefinitions: made from the models, put where a server can serve them."""
